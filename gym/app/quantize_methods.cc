#include "gym/app/quantize_methods.h"

#include <string>

#include <CLI/CLI.hpp>

#include "compiler/strategy/strategy.h"
#include "gym/app/options.h"

namespace msc::gym {

void AddQuantizeMethods(CLI::App& command, QuantizeOptions& options) {
  command
      .add_option_function<std::string>(
          "--activations",
          [&options](const std::string& word) { options.activations = ParsePrecision(word); },
          "int8 = layers compute with integers; f32 = quantize only weights")
      ->check(CLI::IsMember({"int8", "f32"}))
      ->default_str(std::string(Name(options.activations)));
  AddSetting(
      command, "--bits", options.bits, CLI::Range(2, 8),
      "bits of a weight; targets run fewer than 8 as 8-bit integers; 7 are faster with native "
      "on CPUs without VNNI");
  AddSetting(command, "--percentile", options.scales.percentile, CLI::Range(50.0, 100.0),
             "percentage of absolute values that a range keeps, for --method percentile");
  AddSetting(command, "--activation-bits", options.scales.bits, CLI::Range(2, 8),
             "bits of an activation; fewer than 8 are stored as 8-bit integers");
  AddSetting(command, "--grid", options.grid, CLI::IsMember({"max", "mse"}),
             "how scales of weights are chosen: max = largest magnitude, mse = least square error");
  AddSetting(command, "--per", options.per, CLI::IsMember({"channel", "tensor"}),
             "weights that share a scale: those of a channel, or all of a layer (tensor)");
  command.add_flag("--affine-weights", options.affine_weights,
                   "use zero points for weights: one per channel or group with --activations f32, "
                   "one per layer with --per tensor");
  AddSetting(command, "--group", options.group, CLI::Range(0, 1000000),
             "number of inputs of a channel that share a scale, with --activations f32; 0 = all; "
             "layers whose number of inputs is not a multiple of it keep one scale per channel");
  command.add_flag("--reconstruct", options.reconstruct,
                   "refit weights to the quantized inputs before rounding them");
  command.add_flag("--correct-bias", options.correct_bias,
                   "correct the mean error of every channel by its bias");
  command.add_flag("--equalize", options.equalize,
                   "apply cross-layer equalization; the f32 outputs stay the same");
  command.add_flag("--smooth", options.smooth,
                   "apply SmoothQuant and search its alpha; the f32 outputs stay the same");
  AddSetting(command, "--ridge", options.ridge, CLI::Range(1e-9, 1e9),
             "strength with which a refit holds weights near their original values");
  AddSetting(command, "--positions", options.positions, CLI::Range(0, 1000000),
             "number of output positions per sample that a fit uses; 0 = eight in all samples "
             "together for every input of a layer");
  AddSetting(command, "--seed", options.seed, "seed of the choice of positions");
}

}  // namespace msc::gym
