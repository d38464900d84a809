#include "compiler/pipeline/round_weights.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/base/parallel.h"
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

/// The grid that a layer shall have.
struct Request {
  int bits = 8;
  std::int64_t group = 0;            ///< number of inputs that share a scale
  std::optional<WeightStep> shared;  ///< the step of all channels, if they share one
};

WeightStep LargestStep(const QuantizeOptions& options, const Request& request,
                       std::span<const float> row) {
  if (request.shared) return *request.shared;
  return options.affine_weights ? AffineStep(row, request.bits)
                                : SymmetricStep(MaxScale(row, request.bits), request.bits);
}

WeightStep StepOf(const QuantizeOptions& options, const Request& request,
                  std::span<const float> row, std::span<const double> importance) {
  const int bits = request.bits;
  if (request.shared || options.grid != "mse") return LargestStep(options, request, row);
  return options.affine_weights ? BestAffineStep(row, bits, importance)
                                : SymmetricStep(BestScale(row, bits, importance), bits);
}

/// Returns the steps of rows of `inputs` weights: one for each request.group of them.
std::vector<WeightStep> StepsOf(const QuantizeOptions& options, const Request& request,
                                std::span<const float> rows, std::int64_t inputs,
                                std::span<const double> importance, int threads = 1) {
  const auto group = static_cast<std::size_t>(request.group);
  std::vector<WeightStep> steps((rows.size() + group - 1) / group);
  ForEachOnThreads(threads, steps.size(), [&](std::size_t i) {
    const std::size_t input = i * group % static_cast<std::size_t>(inputs);
    steps[i] = StepOf(options, request, rows.subspan(i * group, group),
                      importance.empty() ? importance : importance.subspan(input, group));
  });
  return steps;
}

/// Returns the request for a layer with `inputs` weights in each of `rows`. Inputs of a channel
/// share a scale if groups do not divide them. The step that channels share is that of the largest
/// weight of all.
Request RequestFor(const QuantizeOptions& options, int bits, Precision precision,
                   std::span<const float> rows, std::int64_t inputs) {
  const bool grouped =
      precision == Precision::kF32 && options.group > 0 && inputs % options.group == 0;
  Request request{.bits = bits, .group = grouped ? options.group : inputs, .shared = {}};
  if (options.per == "tensor") request.shared = LargestStep(options, request, rows);
  return request;
}

/// Returns whether a plan without a grid already stands for the requested grid.
bool IsPlain(const QuantizeOptions& options, int bits, Precision precision) {
  return bits == 8 && options.grid == "max" && options.per == "channel" &&
         !options.affine_weights && precision == Precision::kInt8;
}

WeightGrid GridOf(const QuantizeOptions& options, const Request& request, std::int64_t inputs,
                  const std::vector<WeightStep>& steps) {
  WeightGrid grid{
      .bits = request.bits, .scales = {}, .group = request.group == inputs ? 0 : request.group};
  for (const WeightStep& step : steps) {
    grid.scales.push_back(static_cast<double>(step.scale));
    if (options.affine_weights) grid.zero_points.push_back(ZeroPointOf(step, request.bits));
  }
  return grid;
}

/// Chooses the grid of a layer without samples.
WeightGrid GridAlone(const QuantizeOptions& options, int bits, Precision precision,
                     const Graph& graph, const WeightedLayer& layer) {
  const LinearForm form = FormOf(graph, layer);
  const std::vector<float> rows = ReadRows(graph, layer, form);
  const Request request = RequestFor(options, bits, precision, rows, form.inputs);
  return GridOf(options, request, form.inputs, StepsOf(options, request, rows, form.inputs, {}));
}

bool UsesSamples(const QuantizeOptions& options) {
  return options.rounding != "nearest" || options.reconstruct || options.correct_bias;
}

std::int64_t PositionsFor(const QuantizeOptions& options, std::int64_t samples,
                          std::int64_t inputs) {
  if (options.positions > 0) return options.positions;
  samples = std::max<std::int64_t>(samples, 1);
  return std::max(kLeastPositions, (kRowsAnInput * inputs + samples - 1) / samples);
}

/// Weights of one group of a layer, or of all of them, with the bias that belongs to them.
struct Choice {
  std::vector<WeightStep> steps;
  std::vector<float> weights;
  std::vector<float> bias;
  double error = 0;
};

/// What a choice is made for: one group of a layer.
struct Group {
  const LinearMoments& moments;
  std::span<const float> weights;
  std::span<const float> bias;
  bool has_bias = false;

  [[nodiscard]] std::int64_t inputs() const {
    return static_cast<std::int64_t>(weights.size() / bias.size());
  }
};

/// Returns the baseline: weights rounded to the nearest on scales by their largest magnitude.
Choice PlainChoice(const QuantizeOptions& options, const Request& request, const Group& group) {
  Choice choice;
  const auto size = static_cast<std::size_t>(request.group);
  for (std::size_t first = 0; first < group.weights.size(); first += size) {
    choice.steps.push_back(LargestStep(options, request, group.weights.subspan(first, size)));
  }
  choice.weights = RoundRows(group.weights, choice.steps, {}, WeightRounding::kNearest,
                             group.inputs() / request.group);
  choice.bias.assign(group.bias.begin(), group.bias.end());
  choice.error = group.moments.Error(choice.weights, choice.bias);
  return choice;
}

/// Returns the choice by all requested methods.
Choice BestChoice(const QuantizeOptions& options, const Request& request, const Group& group,
                  int threads) {
  const auto inputs = static_cast<std::size_t>(group.inputs());
  std::vector<float> weights(group.weights.begin(), group.weights.end());
  Choice choice;
  choice.bias.assign(group.bias.begin(), group.bias.end());
  if (options.reconstruct) {
    LinearMoments::Fit fit =
        group.moments.Solve(group.weights, group.bias, group.has_bias, options.ridge);
    weights = std::move(fit.weights);
    choice.bias = std::move(fit.bias);
  }
  // A corrected bias removes the error of the mean for any weights, so only the error about the
  // mean counts.
  const bool corrects = group.has_bias && (options.correct_bias || options.reconstruct);
  const std::vector<double> gram =
      group.moments.Gram(corrects ? LinearMoments::About::kMean : LinearMoments::About::kZero);
  std::vector<double> importance(inputs);
  for (std::size_t i = 0; i < inputs; ++i) importance[i] = gram[i * inputs + i];
  choice.steps = StepsOf(options, request, weights, group.inputs(), importance, threads);
  choice.weights = RoundRows(weights, choice.steps, gram, ParseRounding(options.rounding),
                             group.inputs() / request.group, threads);
  if (corrects) choice.bias = MeanBias(group.moments, choice.weights);
  choice.error = group.moments.Error(choice.weights, choice.bias);
  return choice;
}

/// The choices for all groups of a layer, with errors relative to the variance of its outputs.
struct Solution {
  Choice all;
  double error_before = 0;  ///< of the baseline
  double error_after = 0;
};

Solution Solve(const QuantizeOptions& options, const Request& request,
               const std::vector<LinearMoments>& moments, const std::vector<float>& weights,
               const std::vector<float>& bias, bool has_bias, int threads) {
  Solution solution;
  double variance = std::numeric_limits<double>::min();
  const auto groups = std::ssize(moments);
  for (std::int64_t g = 0; g < groups; ++g) {
    const Group group{.moments = moments[static_cast<std::size_t>(g)],
                      .weights = Part(weights, g, std::ssize(weights) / groups),
                      .bias = Part(bias, g, std::ssize(bias) / groups),
                      .has_bias = has_bias};
    const Choice plain = PlainChoice(options, request, group);
    Choice taken = BestChoice(options, request, group, threads);
    if (!(taken.error <= plain.error)) taken = plain;
    solution.error_before += plain.error * group.moments.Variance();
    solution.error_after += taken.error * group.moments.Variance();
    variance += group.moments.Variance();
    const auto append = [](const auto& part, auto& all) {
      all.insert(all.end(), part.begin(), part.end());
    };
    append(taken.steps, solution.all.steps);
    append(taken.weights, solution.all.weights);
    append(taken.bias, solution.all.bias);
  }
  solution.error_before /= variance;
  solution.error_after /= variance;
  return solution;
}

/// Returns the graph with the layers in `done` quantized as they will run; `name` has no grid yet.
Graph QuantizedSoFar(const RoundingRun& rounding, std::span<const QuantizableLayer> layers,
                     const PrecisionByLayer& done, const std::string& name,
                     const QuantizePlan& plan, Graph graph) {
  QuantizePlan so_far{
      .layers = done, .activations = ScalesNeeded(layers, done, rounding.scales), .weights = {}};
  for (const auto& [layer, grid] : plan.weights) {
    if (done.contains(layer) && layer != name) so_far.weights.emplace(layer, grid);
  }
  ApplyQuantizePlan(so_far, graph);
  return graph;
}

/// Returns the names of what the layer reads in `graph`: its input, then the residual if any.
std::vector<std::string> InputsOf(const LayerFit& fit, const Graph& graph) {
  const auto name = [&](NodeId node, std::size_t index) {
    return graph.value(graph.node(node).inputs.at(index)).name;
  };
  std::vector<std::string> inputs = {name(fit.layer.node, 0)};
  if (!fit.residual.empty()) inputs.push_back(name(fit.residual_add, fit.residual_input));
  return inputs;
}

/// Fits one layer, whose input `so_far` computes. Enters its grid in `plan`, its constants in
/// `graph` and its errors in `row`.
void FitLayer(const RoundingRun& rounding, const LayerFit& fit, const MomentsOfLayer& moments,
              const Graph& so_far, QuantizePlan& plan, Graph& graph, QuantizedLayer& row) {
  const QuantizeOptions& options = rounding.options;
  WeightedLayer layer = fit.layer;
  layer.weight = graph.node(layer.node).inputs.at(1);
  const LinearForm form = FormOf(graph, layer);
  const std::vector<float> weights = ReadRows(graph, layer, form);
  const bool has_bias = fit.bias_node != kNoNode;
  Tensor bias(DType::kF32, {form.groups * form.outputs});
  if (has_bias) bias = *graph.constant(graph.node(fit.bias_node).inputs.at(fit.bias_input));
  const auto bias_values = bias.MutableValues<float>();
  const int bits = static_cast<int>(row.bits);
  const Precision precision = plan.layers.at(row.name);
  const Request request = RequestFor(options, bits, precision, weights, form.inputs);
  const Solution solution =
      Solve(options, request,
            moments({.graph = graph,
                     .layer = layer,
                     .form = form,
                     .observed = so_far,
                     .inputs = InputsOf(fit, so_far)}),
            weights, {bias_values.begin(), bias_values.end()}, has_bias, rounding.run.Cores());
  row.error_before = solution.error_before;
  row.error_after = solution.error_after;
  if (has_bias) {
    std::copy(solution.all.bias.begin(), solution.all.bias.end(), bias_values.begin());
    ReplaceConstant(graph, fit.bias_node, fit.bias_input, std::move(bias));
  }
  const bool same_weights = options.rounding == "nearest" && !options.reconstruct;
  if (same_weights && IsPlain(options, bits, precision)) return;  // the plan's own grid gives them
  plan.weights[row.name] = GridOf(options, request, form.inputs, solution.all.steps);
  if (!same_weights) {
    ReplaceConstant(graph, layer.node, 1, WriteRows(graph, layer, form, solution.all.weights));
  }
}

}  // namespace

double WorkOfGptq(const Graph& canonical) {
  // An inverse factor for each group; for each output a row of eliminations, and three products
  // with the moments for errors.
  constexpr double kOfFactor = 4.0 / 3;
  constexpr double kOfOutput = 7;
  double work = 0;
  for (const WeightedLayer& layer : FindWeightedLayers(canonical)) {
    const auto form = ReadLinearForm(canonical, layer);
    if (!form) continue;
    const auto inputs = static_cast<double>(form->inputs);
    const auto outputs = static_cast<double>(form->outputs);
    work += static_cast<double>(form->groups) * inputs * inputs *
            (kOfFactor * inputs + kOfOutput * outputs);
  }
  return work;
}

void RoundWeights(const RoundingRun& rounding, QuantizePlan& plan, Graph& graph,
                  std::vector<QuantizedLayer>& rows, const std::function<void(double)>& progress) {
  const QuantizeOptions& options = rounding.options;
  const Graph original = graph;
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph);
  const std::vector<LayerChain> chains = FindLayerChains(graph);
  const std::vector<WeightedLayer> weighted = FindWeightedLayers(graph);
  const auto row_of = [&](const WeightedLayer& layer) {
    return std::find_if(rows.begin(), rows.end(), [&](const QuantizedLayer& each) {
      return each.name == graph.node(layer.node).name;
    });
  };
  std::vector<LayerFit> fits;
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    const auto row = row_of(weighted[i]);
    if (row == rows.end() || row->bits == 0) continue;
    auto fit = MakeLayerFit(graph, i, weighted[i], chains);
    const bool fits_memory = MomentBytes(FormOf(graph, weighted[i])) <= kMaxMomentBytes;
    const int bits = static_cast<int>(row->bits);
    const Precision precision = plan.layers.at(row->name);
    if (UsesSamples(options) && fit && fits_memory) {
      fits.push_back(std::move(*fit));
    } else if (!IsPlain(options, bits, precision)) {
      plan.weights[row->name] = GridAlone(options, bits, precision, graph, weighted[i]);
    }
  }
  PrecisionByLayer done;
  const LayerRefit refit{
      .original = original,
      .samples = rounding.samples,
      .run = rounding.run,
      .registry = rounding.registry,
      .seed = options.seed,
      .positions =
          [&](const LayerFit& fit) {
            return PositionsFor(options, rounding.samples.count(),
                                FormOf(original, fit.layer).inputs);
          },
      .together = [&](auto next) { return std::min(kLayersATime, next.size()); },
      .wanted = [](const LayerFit&, std::vector<float> outputs) { return outputs; },
      .fit =
          [&](const LayerFit& fit, const MomentsOfLayer& moments) {
            QuantizedLayer& row = *row_of(fit.layer);
            done[row.name] = plan.layers.at(row.name);
            const Graph so_far = QuantizedSoFar(rounding, layers, done, row.name, plan, graph);
            FitLayer(rounding, fit, moments, so_far, plan, graph, row);
          },
      .changed = [&] { return QuantizedSoFar(rounding, layers, plan.layers, "", plan, graph); }};
  RefitLayers(refit, fits, progress);
}

}  // namespace msc
