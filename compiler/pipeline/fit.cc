#include "compiler/pipeline/fit.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/prune.h"
#include "compiler/pipeline/samples.h"

namespace msc {
namespace {

bool AnyInt8(const QuantizePlan& plan) {
  return std::any_of(plan.layers.begin(), plan.layers.end(),
                     [](const auto& layer) { return layer.second == Name(Precision::kInt8); });
}

}  // namespace

std::string FitHash(const SampleSource& samples, const FitOptions& options) {
  Sha256 hash;
  hash.Add("msc-fit-1\n" + ToJsonText(options) + "\n");
  AddSamples(samples, hash);
  return hash.Hex();
}

Result<Strategy> FitStrategy(const Graph& canonical, const Strategy& strategy,
                             const SampleSource& samples, const FitOptions& options,
                             const TargetRegistry& registry) {
  if (strategy.fit.samples != FitHash(samples, options)) {
    throw UserError("the strategy is to be fitted to other samples, or in another way");
  }
  Strategy result = strategy;
  result.fit.weights.clear();
  Graph plain = canonical;
  ApplyPrunePlan(strategy.prune, plain);
  const CalibrationRun run{options.target, options.threads, options.batch};
  // A target that refuses the smaller model is the candidate's failure; what throws below is not.
  Strategy f32;
  f32.target = options.target;
  const Result<Executable> built =
      Compile(plain, f32, registry,
              {.threads = options.threads, .bindings = BatchBindings(plain, options.batch)});
  if (!built.ok()) return built.failure();

  Graph fitted = plain;
  if (options.reconstruct) {
    const PruneCalibration calibration{
        .run = run, .positions = options.positions, .ridge = options.ridge, .seed = options.seed};
    (void)Reconstruct(canonical, strategy.prune, samples, calibration, registry, fitted);
  }
  SetFitted(ChangedConstants(plain, fitted), result);
  if (AnyInt8(strategy.quantize)) {
    const Calibrator calibrator = ObserveActivations(fitted, samples, run, registry);
    result.quantize.activations = ScalesNeeded(
        FindQuantizableLayers(fitted), strategy.quantize.layers, calibrator.Scales(options.scales));
  }
  return result;
}

}  // namespace msc
