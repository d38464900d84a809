#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/result.h"
#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// How samples decide what pruning leaves open.
struct FitOptions {
  std::string target = "onednn";  ///< who runs the model over the samples, in f32
  int threads = 1;
  std::int64_t batch = 32;
  bool reconstruct = true;  ///< refit weights; scales are measured anew in any case
  double ridge = 1e-3;      ///< as in PruneCalibration, and the two below
  std::int64_t positions = 16;
  std::uint64_t seed = 0;
  CalibrationOptions scales;
  bool operator==(const FitOptions&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("target", self.target, "who runs the model over the samples");
    visit("threads", self.threads, "threads for that", Within{1, 1024});
    visit("batch", self.batch, "samples a call", Within{1, 65536});
    visit("reconstruct", self.reconstruct, "refit weights");
    visit("ridge", self.ridge, "how firmly the fit holds on to the weights", Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions a sample", Within{1, 1e6});
    visit("seed", self.seed, "which positions");
    visit("scales", self.scales, "how ranges become scales");
  }
};

/// What stands for samples and options in FitPlan::samples, 64 hex digits.
[[nodiscard]] std::string FitHash(const SampleSource& samples, const FitOptions& options);

/// The strategy with what was left to the samples: its channels are removed, the weights that are
/// left refitted layer by layer to what the layers computed before (Reconstruct), and then the
/// scales of all tensors that its int8 layers touch found in the graph that came of it, where
/// values are others than in the whole model; by `options.scales`, but for the method where
/// quantize.ranges has another. Where quantize.rounding has a word, weights of int8 layers are then
/// fitted to the quantized inputs as QuantizeModel does, on scales by least square error:
///   gptq, descent  rounded so, mean errors taken out by the biases
///   reconstruct    refitted first, then rounded by descent
/// What came of all that is trained where fit.train has epochs (TrainStrategy). Deterministic:
/// equal arguments give equal bits on one machine. A Failure where the target does not take the
/// pruned model, and as TrainStrategy. UserError where `strategy.fit.samples` names other samples,
/// and as ApplyPrunePlan, ApplyQuantizePlan, ObserveValues and TrainStrategy.
[[nodiscard]] Result<Strategy> FitStrategy(const Graph& canonical, const Strategy& strategy,
                                           const SampleSource& samples, const FitOptions& options,
                                           const TargetRegistry& registry);

}  // namespace msc
