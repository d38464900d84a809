#include "compiler/pipeline/round_weights.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/passes/rewrite.h"
#include "compiler/pipeline/layer_fit.h"
#include "compiler/pipeline/refit_layers.h"

namespace msc {
namespace {

constexpr std::size_t kLayersATime = 8;  ///< whose f32 outputs one run of the model gives
constexpr double kMaxMomentBytes = 2.0 * (1U << 30U);
// With fewer rows per weight a fit follows the samples only: PP-OCR's recogniser, refitted with
// two, reads no line correctly; with eight it reads as many as before.
constexpr std::int64_t kRowsAnInput = 8;
constexpr std::int64_t kLeastPositions = 16;

WeightRounding ParseRounding(const std::string& name) {
  if (name == "gptq") return WeightRounding::kGptq;
  return name == "descent" ? WeightRounding::kDescent : WeightRounding::kNearest;
}

/// Returns a layer as rows of weights, also if ReadLinearForm does not know its form.
LinearForm FormOf(const Graph& graph, const WeightedLayer& layer) {
  if (const auto form = ReadLinearForm(graph, layer)) return *form;
  const Tensor& weights = *graph.constant(layer.weight);
  LinearForm form;
  form.outputs = weights.dims().at(layer.out_axis);
  form.inputs = weights.size() / std::max<std::int64_t>(form.outputs, 1);
  return form;
}

double MomentBytes(const LinearForm& form) {
  return 8.0 * static_cast<double>(form.groups) * static_cast<double>(form.inputs) *
         static_cast<double>(form.inputs);
}

template <class T>
std::span<const T> Part(const std::vector<T>& all, std::int64_t part, std::int64_t size) {
  return std::span<const T>(all).subspan(static_cast<std::size_t>(part * size),
                                         static_cast<std::size_t>(size));
}

/// Weights of one group of a layer, with the bias that belongs to them.
struct Choice {
  std::vector<WeightStep> steps;
  std::vector<float> weights;
  std::vector<float> bias;
  double error = 0;
};

/// Implements RoundWeights.
class WeightRounder {
 public:
  WeightRounder(const RoundingRun& rounding, QuantizePlan& plan, Graph& graph)
      : rounding_(rounding),
        options_(rounding.options),
        plan_(plan),
        graph_(graph),
        original_(graph),
        layers_(FindQuantizableLayers(graph)) {}

  void Run(std::vector<QuantizedLayer>& rows, const std::function<void(double)>& progress) {
    const std::vector<LayerChain> chains = FindLayerChains(graph_);
    const std::vector<WeightedLayer> weighted = FindWeightedLayers(graph_);
    std::vector<LayerFit> fits;
    for (std::size_t i = 0; i < weighted.size(); ++i) {
      const std::string& name = graph_.node(weighted[i].node).name;
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const QuantizedLayer& each) { return each.name == name; });
      if (row == rows.end() || row->bits == 0) continue;
      bits_[name] = static_cast<int>(row->bits);
      auto fit = MakeLayerFit(graph_, i, weighted[i], chains);
      const bool fits_memory = MomentBytes(FormOf(graph_, weighted[i])) <= kMaxMomentBytes;
      if (UsesSamples() && fit && fits_memory) {
        fits.push_back(std::move(*fit));
      } else {
        RoundAlone(weighted[i]);
      }
    }
    const LayerRefit refit{
        .original = original_,
        .samples = rounding_.samples,
        .run = rounding_.run,
        .registry = rounding_.registry,
        .seed = options_.seed,
        .positions = [&](const LayerFit& fit) { return PositionsOf(fit); },
        .together = [&](auto next) { return std::min(kLayersATime, next.size()); },
        .wanted = [](const LayerFit&, std::vector<float> outputs) { return outputs; },
        .fit = [&](const LayerFit& fit,
                   const MomentsOfLayer& moments) { Fit(fit, moments, rows); }};
    RefitLayers(refit, fits, progress);
  }

 private:
  [[nodiscard]] bool UsesSamples() const {
    return options_.rounding != "nearest" || options_.reconstruct || options_.correct_bias;
  }
  /// Returns whether a plan without a grid already stands for the requested grid.
  [[nodiscard]] bool IsPlain(const std::string& name) const {
    return bits_.at(name) == 8 && options_.grid == "max" && options_.per == "channel" &&
           !options_.affine_weights && plan_.layers.at(name) == Precision::kInt8;
  }
  [[nodiscard]] WeightStep LargestStep(std::span<const float> row, int bits) const {
    if (shared_step_) return *shared_step_;
    return options_.affine_weights ? AffineStep(row, bits)
                                   : SymmetricStep(MaxScale(row, bits), bits);
  }
  [[nodiscard]] WeightStep StepOf(std::span<const float> row, int bits,
                                  std::span<const double> importance) const {
    if (shared_step_ || options_.grid != "mse") return LargestStep(row, bits);
    return options_.affine_weights ? BestAffineStep(row, bits, importance)
                                   : SymmetricStep(BestScale(row, bits, importance), bits);
  }

  /// Sets the step of a layer whose channels share one: by the largest weight of all.
  void ShareStep(std::span<const float> rows, int bits) {
    shared_step_.reset();
    if (options_.per == "tensor") shared_step_ = LargestStep(rows, bits);
  }

  /// Returns the number of inputs that share a scale: all inputs of a channel if groups do not
  /// divide them.
  [[nodiscard]] std::int64_t GroupOf(const std::string& name, std::int64_t inputs) const {
    const bool alone = plan_.layers.at(name) == Precision::kF32;
    const bool even = options_.group > 0 && inputs % options_.group == 0;
    return alone && even ? options_.group : inputs;
  }

  /// Returns a step for every `group` inputs of one row.
  [[nodiscard]] std::vector<WeightStep> StepsOfRow(std::span<const float> row, int bits,
                                                   std::span<const double> importance,
                                                   std::int64_t group) const {
    std::vector<WeightStep> steps;
    const auto size = static_cast<std::size_t>(group);
    for (std::size_t first = 0; first < row.size(); first += size) {
      steps.push_back(StepOf(row.subspan(first, size), bits,
                             importance.empty() ? importance : importance.subspan(first, size)));
    }
    return steps;
  }

  void SetGrid(const std::string& name, const std::vector<WeightStep>& steps, std::int64_t group) {
    WeightGrid grid{.bits = bits_.at(name), .scales = {}, .group = group};
    for (const WeightStep& step : steps) {
      grid.scales.push_back(static_cast<double>(step.scale));
      if (options_.affine_weights) grid.zero_points.push_back(ZeroPointOf(step, bits_.at(name)));
    }
    plan_.weights[name] = std::move(grid);
  }

  /// Chooses the scales of a layer without samples.
  void RoundAlone(const WeightedLayer& layer) {
    const std::string& name = graph_.node(layer.node).name;
    if (IsPlain(name)) return;
    const LinearForm form = FormOf(graph_, layer);
    const std::vector<float> rows = ReadRows(graph_, layer, form);
    ShareStep(rows, bits_.at(name));
    std::vector<WeightStep> steps;
    const std::int64_t group = GroupOf(name, form.inputs);
    for (std::int64_t r = 0; r < form.groups * form.outputs; ++r) {
      const auto own = StepsOfRow(Part(rows, r, form.inputs), bits_.at(name), {}, group);
      steps.insert(steps.end(), own.begin(), own.end());
    }
    SetGrid(name, steps, group == form.inputs ? 0 : group);
  }

  [[nodiscard]] std::int64_t PositionsOf(const LayerFit& fit) const {
    if (options_.positions > 0) return options_.positions;
    const std::int64_t samples = std::max<std::int64_t>(rounding_.samples.count(), 1);
    const std::int64_t rows = kRowsAnInput * FormOf(original_, fit.layer).inputs;
    return std::max(kLeastPositions, (rows + samples - 1) / samples);
  }

  /// Returns the graph with this layer and those before it quantized as they will run.
  [[nodiscard]] Graph SoFar(const std::string& name) {
    done_.layers[name] = plan_.layers.at(name);
    QuantizePlan plan = done_;
    plan.activations = ScalesNeeded(layers_, plan.layers, rounding_.scales);
    for (const auto& [layer, grid] : plan_.weights) {
      if (plan.layers.contains(layer) && layer != name) plan.weights.emplace(layer, grid);
    }
    Graph graph = graph_;
    ApplyQuantizePlan(plan, graph);
    return graph;
  }

  void Fit(const LayerFit& fit, const MomentsOfLayer& moments, std::vector<QuantizedLayer>& rows) {
    WeightedLayer layer = fit.layer;
    layer.weight = graph_.node(layer.node).inputs.at(1);
    const Graph so_far = SoFar(graph_.node(layer.node).name);
    const auto input_name = [&](NodeId node, std::size_t index) {
      return so_far.value(so_far.node(node).inputs.at(index)).name;
    };
    ChangedLayer changed{.graph = graph_,
                         .layer = layer,
                         .form = FormOf(graph_, layer),
                         .observed = so_far,
                         .inputs = {input_name(layer.node, 0)}};
    if (!fit.residual.empty()) {
      changed.inputs.push_back(input_name(fit.residual_add, fit.residual_input));
    }
    Solve(fit, layer, changed.form, moments(changed), rows);
  }

  void Solve(const LayerFit& fit, const WeightedLayer& layer, const LinearForm& form,
             const std::vector<LinearMoments>& moments, std::vector<QuantizedLayer>& rows) {
    const std::string name = graph_.node(layer.node).name;
    const bool has_bias = fit.bias_node != kNoNode;
    Tensor bias(DType::kF32, {form.groups * form.outputs});
    if (has_bias) bias = *graph_.constant(graph_.node(fit.bias_node).inputs.at(fit.bias_input));
    const std::vector<float> old_bias(bias.Values<float>().begin(), bias.Values<float>().end());
    const std::vector<float> old = ReadRows(graph_, layer, form);
    ShareStep(old, bits_.at(name));
    Choice all;
    double before = 0;
    double after = 0;
    double variance = std::numeric_limits<double>::min();
    for (std::int64_t g = 0; g < form.groups; ++g) {
      const auto w = Part(old, g, form.outputs * form.inputs);
      const auto b = Part(old_bias, g, form.outputs);
      const LinearMoments& group = moments[static_cast<std::size_t>(g)];
      const Choice plain = Plain(group, w, b, name);
      Choice taken = Best(group, w, b, name, has_bias);
      if (!(taken.error <= plain.error)) taken = plain;
      before += plain.error * group.Variance();
      after += taken.error * group.Variance();
      variance += group.Variance();
      all.steps.insert(all.steps.end(), taken.steps.begin(), taken.steps.end());
      all.weights.insert(all.weights.end(), taken.weights.begin(), taken.weights.end());
      all.bias.insert(all.bias.end(), taken.bias.begin(), taken.bias.end());
    }
    for (QuantizedLayer& row : rows) {
      if (row.name != name) continue;
      row.error_before = before / variance;
      row.error_after = after / variance;
    }
    if (has_bias) {
      std::copy(all.bias.begin(), all.bias.end(), bias.MutableValues<float>().begin());
      ReplaceConstant(graph_, fit.bias_node, fit.bias_input, std::move(bias));
    }
    const bool same_weights = options_.rounding == "nearest" && !options_.reconstruct;
    if (same_weights && IsPlain(name)) return;  // the plan's own grid gives these weights
    const std::int64_t shared = GroupOf(name, form.inputs);
    SetGrid(name, all.steps, shared == form.inputs ? 0 : shared);
    if (!same_weights) {
      ReplaceConstant(graph_, layer.node, 1, WriteRows(graph_, layer, form, all.weights));
    }
  }

  /// Returns the baseline: weights rounded to the nearest on scales by their largest magnitude.
  [[nodiscard]] Choice Plain(const LinearMoments& moments, std::span<const float> w,
                             std::span<const float> b, const std::string& name) const {
    Choice choice;
    const std::size_t inputs = w.size() / b.size();
    const auto group = static_cast<std::size_t>(GroupOf(name, static_cast<std::int64_t>(inputs)));
    for (std::size_t first = 0; first < w.size(); first += group) {
      choice.steps.push_back(LargestStep(w.subspan(first, group), bits_.at(name)));
    }
    choice.weights = RoundRows(w, choice.steps, {}, WeightRounding::kNearest,
                               static_cast<std::int64_t>(inputs / group));
    choice.bias.assign(b.begin(), b.end());
    choice.error = moments.Error(choice.weights, choice.bias);
    return choice;
  }

  /// Returns the choice by all requested methods.
  [[nodiscard]] Choice Best(const LinearMoments& moments, std::span<const float> w,
                            std::span<const float> b, const std::string& name,
                            bool has_bias) const {
    const int bits = bits_.at(name);
    const std::size_t inputs = w.size() / b.size();
    std::vector<float> weights(w.begin(), w.end());
    Choice choice;
    choice.bias.assign(b.begin(), b.end());
    if (options_.reconstruct) {
      LinearMoments::Fit fit = moments.Solve(w, b, has_bias, options_.ridge);
      weights = std::move(fit.weights);
      choice.bias = std::move(fit.bias);
    }
    // A corrected bias removes the error of the mean for any weights, so only the error about the
    // mean counts.
    const bool corrects = has_bias && (options_.correct_bias || options_.reconstruct);
    const std::vector<double> gram =
        moments.Gram(corrects ? LinearMoments::About::kMean : LinearMoments::About::kZero);
    std::vector<double> importance(inputs);
    for (std::size_t i = 0; i < inputs; ++i) importance[i] = gram[i * inputs + i];
    const std::int64_t group = GroupOf(name, static_cast<std::int64_t>(inputs));
    for (std::size_t o = 0; o < b.size(); ++o) {
      const auto own = StepsOfRow(std::span<const float>(weights).subspan(o * inputs, inputs), bits,
                                  importance, group);
      choice.steps.insert(choice.steps.end(), own.begin(), own.end());
    }
    choice.weights = RoundRows(weights, choice.steps, gram, ParseRounding(options_.rounding),
                               static_cast<std::int64_t>(inputs) / group);
    if (corrects) choice.bias = MeanBias(moments, choice.weights);
    choice.error = moments.Error(choice.weights, choice.bias);
    return choice;
  }

  const RoundingRun& rounding_;
  const QuantizeOptions& options_;
  QuantizePlan& plan_;
  Graph& graph_;
  const Graph original_;
  const std::vector<QuantizableLayer> layers_;
  std::map<std::string, int> bits_;
  std::optional<WeightStep> shared_step_;  ///< for the current layer, if its channels share a step
  QuantizePlan done_;
};

}  // namespace

void RoundWeights(const RoundingRun& rounding, QuantizePlan& plan, Graph& graph,
                  std::vector<QuantizedLayer>& rows, const std::function<void(double)>& progress) {
  WeightRounder(rounding, plan, graph).Run(rows, progress);
}

}  // namespace msc
