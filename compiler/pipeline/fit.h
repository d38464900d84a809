#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/result.h"
#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// How samples decide what a pruning strategy leaves open.
struct FitOptions {
  std::string target = "onednn";  ///< runs the model over the samples, in f32
  int threads = 1;
  std::int64_t batch = 32;
  bool reconstruct = true;  ///< whether to refit weights; scales are measured in any case
  double ridge = 1e-3;      ///< this and the next two as in PruneCalibration
  std::int64_t positions = 16;
  std::uint64_t seed = 0;
  CalibrationOptions scales = {};
  OutputForms forms = {};  ///< what training compares; empty: logits along the last axis
  bool operator==(const FitOptions&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("target", self.target, "target that runs the model on the samples");
    visit("threads", self.threads, "number of threads of the target", Within{1, 1024});
    visit("batch", self.batch, "samples per call", Within{1, 65536});
    visit("reconstruct", self.reconstruct, "refit weights");
    visit("ridge", self.ridge,
          "strength with which the fit holds weights near their original values",
          Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions per sample", Within{1, 1e6});
    visit("seed", self.seed, "seed of the choice of positions");
    visit("scales", self.scales, "how scales are chosen from observed values");
    visit("forms", self.forms, "what outputs mean, for training");
  }
};

/// Returns the digest of samples and options for FitPlan::samples, 64 hex digits.
[[nodiscard]] std::string FitHash(const SampleSource& samples, const FitOptions& options);

/// Returns the strategy with everything that it leaves to samples:
/// - removes its channels and refits the remaining weights, layer by layer, to what the layers
///   computed before (Reconstruct);
/// - measures the scales of all tensors that its int8 layers read or write, in the resulting graph,
///   where values differ from those of the whole model; by `options.scales`, except for methods
///   that quantize.ranges names;
/// - if quantize.rounding is set, fits the weights of int8 layers to the quantized inputs, as
///   QuantizeModel does, with scales of least square error. "gptq" and "descent" name the rounding,
///   and biases correct the mean error; "reconstruct" refits first, then rounds by descent;
/// - trains the result if fit.train has epochs (TrainStrategy).
///
/// Deterministic: equal arguments give equal bits on one machine. Returns a Failure if the target
/// does not support the pruned model, or as TrainStrategy. UserError if `strategy.fit.samples` is
/// the digest of other samples, or as ApplyPrunePlan, ApplyQuantizePlan, ObserveValues and
/// TrainStrategy.
[[nodiscard]] Result<Strategy> FitStrategy(const Graph& canonical, const Strategy& strategy,
                                           const SampleSource& samples, const FitOptions& options,
                                           const TargetRegistry& registry);

}  // namespace msc
