#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"

namespace msc::envs {

/// Options of quantization: which layers may be lowered in precision, and what is decided about
/// int8 layers besides that. A list with one value makes no decision: all candidates have that
/// value.
struct QuantizeConfig {
  static constexpr std::string_view kSection = "quantize";
  static constexpr std::string_view kSectionHelp = "decisions about int8 layers";
  /// Bits of weights to choose from, 2 to 8. Empty: 8; a search takes what its target is fast with
  /// (TargetFacts::weight_bits) instead.
  std::vector<std::int64_t> bits = {};
  /// Values of CalibrationOptions::method to choose from; empty: the calibration's own.
  std::vector<std::string> ranges = {};
  std::string range_of = "model";  ///< or "layer": what the range method is chosen for
  /// "nearest" or values of QuantizePlan::rounding; one choice for the whole model.
  std::vector<std::string> rounding = {"nearest"};
  /// Number of layers, in the order of the network, whose precision is decided; the others stay
  /// f32. 0 = all.
  std::int64_t first_layers = 0;
  /// Lists of layers, by name or by "prefix*", that share one precision; layers that read one
  /// constant as their weights always do.
  std::vector<std::vector<std::string>> tie = {};
  bool operator==(const QuantizeConfig&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit(
        "bits", self.bits,
        "bits to choose from for the weights of int8 layers; the choice with 4 bits is called "
        "\"w4a8\"; empty = the most with which the target is fastest: 8, or 7 with native on CPUs "
        "with AVX2 and without VNNI",
        Within{2, 8});
    visit("ranges", self.ranges,
          "methods to choose from for the ranges of activations; empty = only "
          "`calibration.options.method`",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("range_of", self.range_of,
          "what a range method is chosen for: the whole model, or each layer",
          Within::OneOf({"model", "layer"}));
    visit("rounding", self.rounding,
          "ways to choose from for rounding int8 weights; all except nearest fit every candidate "
          "to the calibration samples",
          Within::OneOf({"nearest", "gptq", "descent", "reconstruct"}));
    visit("first_layers", self.first_layers,
          "number of layers to decide, in the order of the network; later layers stay f32; 0 = all",
          Within{0, 1e6});
    visit("tie", self.tie,
          "lists of layers that share one precision, decided with the first of them: names, or "
          "\"stage1*\" for all names that begin with stage1; layers that read the same constant as "
          "weights are always tied");
  }
};

/// Returns the bits of weights to choose from: QuantizeConfig::bits, or 8.
[[nodiscard]] std::vector<std::int64_t> WeightBits(const QuantizeConfig& config);
/// Returns whether candidates may have weights that are fitted to samples.
[[nodiscard]] bool FitsWeights(const QuantizeConfig& config);
/// Returns the name of the choice of int8 with `bits` bits per weight: "int8" for 8, "w4a8" for 4.
[[nodiscard]] std::string Int8Word(std::int64_t bits);

}  // namespace msc::envs
