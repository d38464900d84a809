#include "compiler/pipeline/quantize.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/no_layers.h"
#include "compiler/compress/quantize/rescale.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/pairs.h"
#include "compiler/pipeline/round_weights.h"
#include "compiler/pipeline/samples.h"
#include "compiler/pipeline/smooth.h"

namespace msc {
namespace {

std::string SamplesHash(const SampleSource& samples, const QuantizeOptions& options,
                        const CalibrationRun& run) {
  Sha256 hash;
  hash.Add("msc-quantize-1\n" + ToJsonText(options) + "\n" + run.target + " " +
           std::to_string(run.batch) + "\n");
  AddSamples(samples, hash);
  return hash.Hex();
}

template <class T>
T Chosen(const std::map<std::string, T>& chosen, const std::string& layer, const T& otherwise) {
  const auto it = chosen.find(layer);
  return it == chosen.end() ? otherwise : it->second;
}

std::vector<QuantizedLayer> MakeRows(const std::vector<QuantizableLayer>& layers,
                                     const QuantizeOptions& options) {
  std::vector<QuantizedLayer> rows;
  for (const QuantizableLayer& layer : layers) {
    QuantizedLayer row;
    row.name = layer.name;
    row.precision = Chosen(options.layers, layer.name, options.activations);
    // Weights alone: they have fewer bits, and activations stay in f32.
    const bool alone =
        options.layers.contains(layer.name)
            ? row.precision == Precision::kF32 && options.layer_bits.contains(layer.name)
            : options.activations == Precision::kF32;
    if (row.precision == Precision::kInt8 || alone) {
      row.bits = Chosen(options.layer_bits, layer.name, options.bits);
    }
    if (row.bits != 0 && (row.bits < 2 || row.bits > 8)) {
      throw UserError("weights have 2 to 8 bits, not " + std::to_string(row.bits));
    }
    rows.push_back(std::move(row));
  }
  const auto check = [&](const std::string& name) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const QuantizedLayer& row) { return row.name == name; });
    if (!known) throw UserError("the model has no layer '" + name + "' to quantize");
  };
  const bool any_alone = std::any_of(rows.begin(), rows.end(), [](const QuantizedLayer& row) {
    return row.bits != 0 && row.precision == Precision::kF32;
  });
  if (options.per == "tensor" && (options.group > 0 || options.grid == "mse")) {
    throw UserError(
        "one scale for a whole layer is that of its largest weight: no groups, and grid 'max'");
  }
  if (options.group > 0 && !any_alone) {
    throw UserError("groups of " + std::to_string(options.group) +
                    " inputs are for layers whose weights alone are quantized ('activations' f32)");
  }
  const bool any_int8 = std::any_of(rows.begin(), rows.end(), [](const QuantizedLayer& row) {
    return row.precision == Precision::kInt8;
  });
  if (options.affine_weights && any_int8 && options.per != "tensor") {
    throw UserError(
        "weights of int8 layers have one zero point a layer ('per' tensor); one a channel is for "
        "layers whose weights alone are quantized ('activations' f32)");
  }
  for (const auto& [name, precision] : options.layers) check(name);
  for (const auto& [name, bits] : options.layer_bits) check(name);
  return rows;
}

/// Returns what reports the progress of one stage.
std::function<void(double)> StageOf(const QuantizeProgress& progress, const std::string& what) {
  return [&progress, what](double share) {
    if (progress) progress(what, share);
  };
}

/// Returns whether the target rejects the layer, multiplies in another precision, or rejects a
/// conversion of a value that the layer reads.
bool Refuses(const Target& target, const Graph& lowered, NodeId layer, Precision precision) {
  if (!target.Supports(lowered, layer)) return true;
  // A layer that was not fused with the nodes that narrow its values multiplies in f32.
  const DType x = lowered.type(lowered.node(layer).inputs.front()).dtype;
  const bool narrow =
      precision == Precision::kBF16 ? x == DType::kBF16 : x == DType::kI8 || x == DType::kU8;
  if (target.WantsFusedOps() && !narrow) return true;
  for (const ValueId input : lowered.node(layer).inputs) {
    const NodeId made_by = input == kNoValue ? kNoNode : lowered.producer(input);
    if (made_by == kNoNode) continue;
    const std::string& op = lowered.node(made_by).op;
    const bool converts = op == "DequantizeLinear" || op == "QuantizeLinear" || op == "Cast";
    if (converts && !target.Supports(lowered, made_by)) return true;
  }
  return false;
}

}  // namespace

Quantizer::Quantizer(const Graph& canonical, const Strategy& base, const SampleSource& samples,
                     const QuantizeOptions& options, const CalibrationRun& run,
                     const TargetRegistry& registry, const QuantizeProgress& progress)
    : canonical_(canonical),
      base_(base),
      samples_(samples),
      run_(run),
      registry_(registry),
      equalize_(options.equalize),
      smooth_(options.smooth) {
  Strategy start = base;
  start.quantize = {};
  graph_ = ApplyStrategy(canonical, start);
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph_);
  if (layers.empty()) throw UserError(WhyNoQuantizableLayers(graph_));
  (void)MakeRows(layers, options);  // reject wrong options before a long run
  // Both change ranges of activations, so these are observed after them.
  if (options.equalize) EqualizeLayers(graph_);
  if (options.smooth) {
    smoothed_ = SmoothLayers(samples, options, run, registry, graph_, StageOf(progress, "smooth"));
  }
  calibrator_ = ObserveActivations(graph_, samples, run, registry, StageOf(progress, "calibrate"));
}

QuantizedModel Quantizer::Decide(const QuantizeOptions& options, Graph& graph,
                                 const QuantizeProgress& progress) const {
  Check(options.equalize == equalize_ && options.smooth == smooth_,
        "a model is quantized with the rescaling that it was observed with");
  // Weights that differ from those of this graph are stored as fitted.
  Graph plain = canonical_;
  ApplyPrunePlan(base_.prune, plain);
  QuantizedModel result{.strategy = base_, .smoothed = smoothed_};
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph);
  result.layers = MakeRows(layers, options);
  const std::map<std::string, TensorScale> scales =
      calibrator_->Scales(options.scales, options.tensor_scales);

  QuantizePlan& plan = result.strategy.quantize;
  plan = {};
  for (const QuantizedLayer& row : result.layers) plan.layers[row.name] = row.precision;
  plan.activations = ScalesNeeded(layers, plan.layers, scales);
  // Rounding comes last, as it depends on the scales of activations.
  const RoundingRun rounding{samples_, options, run_, registry_, scales};
  RoundWeights(rounding, plan, graph, result.layers, StageOf(progress, "round weights"));

  result.strategy.model_hash = GraphHash(canonical_);
  result.strategy.fit = {};
  FittedWeights fitted = ChangedConstants(plain, graph);
  if (!fitted.weights.empty()) {
    result.strategy.fit.samples = SamplesHash(samples_, options, run_);
    SetFitted(std::move(fitted), result.strategy);
  }
  return result;
}

QuantizedModel Quantizer::Quantize(const QuantizeOptions& options,
                                   const QuantizeProgress& progress) const {
  Graph graph = graph_;
  QuantizedModel result = Decide(options, graph, progress);
  const auto pairs = CheckPairs(result.strategy.quantize, graph, samples_, run_, registry_);
  for (QuantizedLayer& row : result.layers) {
    const auto found = pairs.find(row.name);
    if (found != pairs.end()) row.pairs = found->second;
  }
  return result;
}

Strategy Quantizer::Plan(const QuantizeOptions& options, const QuantizeProgress& progress) const {
  Graph graph = graph_;
  return Decide(options, graph, progress).strategy;
}

QuantizedModel QuantizeModel(const Graph& canonical, const Strategy& base,
                             const SampleSource& samples, const QuantizeOptions& options,
                             const CalibrationRun& run, const TargetRegistry& registry,
                             const QuantizeProgress& progress) {
  return Quantizer(canonical, base, samples, options, run, registry, progress)
      .Quantize(options, progress);
}

std::map<std::string, std::vector<Precision>> FindUnsupportedPrecisions(
    const Graph& canonical, const std::map<std::string, TensorScale>& scales,
    const std::string& target, const TargetRegistry& registry) {
  std::map<std::string, std::vector<Precision>> unsupported;
  const Target& wanted = registry.Get(target);
  if (wanted.facts().name == "reference") return unsupported;
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(canonical);
  // One lowering with all layers in a precision tells about every layer.
  for (const Precision precision : {Precision::kBF16, Precision::kInt8}) {
    Strategy all;
    all.target = target;
    for (const QuantizableLayer& layer : layers) {
      const bool allowed =
          std::find(layer.allowed.begin(), layer.allowed.end(), precision) != layer.allowed.end();
      if (allowed) all.quantize.layers[layer.name] = precision;
    }
    all.quantize.activations = ScalesNeeded(layers, all.quantize.layers, scales);
    const Graph lowered = Lower(ApplyStrategy(canonical, all), wanted, {});
    for (const auto& [name, unused] : all.quantize.layers) {
      const NodeId layer = lowered.FindNode(name);
      if (layer != kNoNode && Refuses(wanted, lowered, layer, precision)) {
        unsupported[name].push_back(precision);
      }
    }
  }
  return unsupported;
}

std::string AchievedPrecision(const Executable& executable, const std::string& target,
                              const std::string& layer) {
  for (const Step& step : executable.steps()) {
    if (std::find(step.nodes.begin(), step.nodes.end(), layer) == step.nodes.end()) continue;
    const auto own = step.precisions.find(layer);
    const std::string& precision = own == step.precisions.end() ? step.precision : own->second;
    if (precision.empty()) continue;  // it only moves data for the layer
    return step.target == target ? precision : precision + " on " + step.target;
  }
  return "";
}

}  // namespace msc
