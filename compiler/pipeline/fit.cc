#include "compiler/pipeline/fit.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/prune.h"
#include "compiler/pipeline/quantize.h"
#include "compiler/pipeline/round_weights.h"
#include "compiler/pipeline/samples.h"
#include "compiler/pipeline/train.h"

namespace msc {
namespace {

/// Batches that the samples make, if there are so many samples: several run at once, on all cores.
constexpr std::int64_t kLeastBatches = 8;

bool AnyInt8(const QuantizePlan& plan) {
  return std::any_of(plan.layers.begin(), plan.layers.end(),
                     [](const auto& layer) { return layer.second == Precision::kInt8; });
}

/// Returns whether the plan has the scales of what its int8 layers read and write.
bool HasScales(const QuantizePlan& plan, std::span<const QuantizableLayer> layers) {
  return std::ranges::all_of(layers, [&](const QuantizableLayer& layer) {
    const auto precision = plan.layers.find(layer.name);
    const bool is_int8 = precision != plan.layers.end() && precision->second == Precision::kInt8;
    return !is_int8 ||
           (plan.activations.contains(layer.input) && plan.activations.contains(layer.output));
  });
}

/// Returns the scales of all values of `graph`, each by the method that the plan names.
std::map<std::string, TensorScale> MeasureScales(const Graph& graph, const QuantizePlan& plan,
                                                 const SampleSource& samples,
                                                 const FitOptions& options,
                                                 const CalibrationRun& run,
                                                 const TargetRegistry& registry) {
  std::map<std::string, CalibrationOptions> others;
  for (const auto& [value, method] : RangeMethods(graph, plan.ranges)) {
    others[value] = options.scales;
    others[value].method = method;
  }
  return ObserveActivations(graph, samples, run, registry).Scales(options.scales, others);
}

/// Returns the options for a word of QuantizePlan::rounding.
QuantizeOptions RoundingOptions(const std::string& word, const FitOptions& options) {
  QuantizeOptions rounding;
  rounding.grid = "mse";
  rounding.rounding = word == "gptq" ? "gptq" : "descent";
  rounding.reconstruct = word == "reconstruct";
  rounding.correct_bias = !rounding.reconstruct;
  rounding.ridge = options.ridge;
  rounding.seed = options.seed;
  return rounding;
}

/// Fits the weights of the plan's int8 layers in `graph`, and gives the plan their grids.
void FitWeights(const RoundingRun& run, QuantizePlan& plan, Graph& graph) {
  std::vector<QuantizedLayer> rows;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    QuantizedLayer row;
    row.name = layer.name;
    if (const auto it = plan.layers.find(layer.name); it != plan.layers.end()) {
      row.precision = it->second;
    }
    if (row.precision == Precision::kInt8) {
      const auto grid = plan.weights.find(layer.name);
      row.bits = grid == plan.weights.end() ? 8 : grid->second.bits;
    }
    rows.push_back(std::move(row));
  }
  plan.weights.clear();
  RoundWeights(run, plan, graph, rows, {});
}

}  // namespace

std::string FitHash(const SampleSource& samples, const FitOptions& options) {
  Sha256 hash;
  // Leave defaults of later options out, so that hashes from before them stay valid.
  nlohmann::json json = ParseJson(ToJsonText(options), "fit options");
  if (json.at("scales").at("bits") == 8) json.at("scales").erase("bits");
  if (options.forms.empty()) json.erase("forms");
  hash.Add("msc-fit-1\n" + json.dump() + "\n");
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
  const CalibrationRun run{
      .target = options.target,
      .threads = options.threads,
      .batch = std::min(options.batch, std::max<std::int64_t>(1, samples.count() / kLeastBatches))};
  // If the target rejects the smaller model, the candidate fails; errors thrown below are not its
  // fault.
  Strategy f32;
  f32.target = options.target;
  const Result<Executable> built =
      Compile(plain, f32, registry,
              {.threads = options.threads, .bindings = BatchBindings(plain, run.batch)});
  if (!built.ok()) return built.failure();

  // Each step sees the results of those before: weights after pruning, then scales, then rounded
  // weights, then training.
  Graph fitted = plain;
  if (options.reconstruct && !strategy.prune.groups.empty()) {
    const PruneCalibration calibration{
        .run = run, .positions = options.positions, .ridge = options.ridge, .seed = options.seed};
    (void)Reconstruct(canonical, strategy.prune, samples, calibration, registry, fitted);
  }
  QuantizePlan& plan = result.quantize;
  if (AnyInt8(plan)) {
    const std::vector<QuantizableLayer> layers = FindQuantizableLayers(fitted);
    // With all channels, values are those of the whole model, whose scales the plan has.
    const bool whole = strategy.prune.groups.empty() && HasScales(plan, layers);
    const std::map<std::string, TensorScale> scales =
        whole ? plan.activations : MeasureScales(fitted, plan, samples, options, run, registry);
    plan.activations = ScalesNeeded(layers, plan.layers, scales);
    if (!plan.rounding.empty()) {
      const QuantizeOptions rounding = RoundingOptions(plan.rounding, options);
      FitWeights({samples, rounding, run, registry, scales}, plan, fitted);
    }
  }
  SetFitted(ChangedConstants(plain, fitted), result);
  if (result.fit.train.epochs == 0) return result;
  return TrainStrategy(canonical, result, samples, options.forms, run, registry);
}

}  // namespace msc
