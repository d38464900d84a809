#include "compiler/pipeline/prune.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/rewrite.h"
#include "compiler/pipeline/layer_fit.h"
#include "compiler/pipeline/refit_layers.h"
#include "compiler/pipeline/taylor.h"

namespace msc {
namespace {

constexpr double kMaxMomentBytes = 4.0 * (1U << 30U);
constexpr double kMaxRowBytes = 256.0 * (1U << 20U);  ///< limit of the bytes in a KeptRows

const std::string& NameOf(const Graph& graph, ValueId value) {
  return graph.value(value).name;
}

/// Returns the sizes of a linear layer's output for a batch of its input. Only a Conv certainly has
/// its batch outermost: the batch of an LSTM is its second axis, and that of layers behind it, too.
Dims OutputDims(const Graph& graph, const PruneSpace& space, const WeightedLayer& layer,
                const Tensor& x) {
  const Dims* sizes = space.Sizes(graph.node(layer.node).outputs.at(0));
  Check(sizes != nullptr, "a layer that is pruned has a known shape");
  Dims dims = *sizes;
  if (graph.node(layer.node).op == "Conv") {
    dims.at(0) = x.dims().at(0);
  } else {
    std::copy(x.dims().begin(), x.dims().end() - 1, dims.begin());
  }
  return dims;
}

std::uint64_t PositionSeed(const PruneCalibration& options, std::size_t layer, std::int64_t first) {
  return MixSeed({options.seed, layer, static_cast<std::uint64_t>(first)});
}

/// A layer that reads units, with the moments of its inputs, one per convolution group.
struct Reader {
  std::size_t number = 0;  ///< index among all weighted layers
  WeightedLayer layer;
  LinearForm form;
  std::vector<LinearMoments> moments = {};
};

std::vector<Reader> FindReaders(const Graph& graph, const PruneSpace& space) {
  std::vector<Reader> readers;
  double bytes = 0;
  const std::vector<WeightedLayer> layers = FindWeightedLayers(graph);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto form = ReadLinearForm(graph, layers[i]);
    if (!form || space.Units(layers[i].weight, layers[i].in_axis).empty()) continue;
    if (space.Sizes(graph.node(layers[i].node).outputs.at(0)) == nullptr) continue;
    // Second moments of n inputs are a matrix of n^2 doubles.
    bytes += 8.0 * static_cast<double>(form->groups) * static_cast<double>(form->inputs) *
             static_cast<double>(form->inputs);
    if (bytes > kMaxMomentBytes) {
      throw UserError(
          "the layers are too wide for scores from calibration data (over 4 GiB of "
          "moments); use l1, l2 or fpgm");
    }
    Reader reader{.number = i, .layer = layers[i], .form = *form};
    for (std::int64_t g = 0; g < form->groups; ++g) reader.moments.emplace_back(form->inputs, 0);
    readers.push_back(std::move(reader));
  }
  return readers;
}

/// Returns the unit of each input of one group of the layer.
std::vector<std::int32_t> UnitOfInputs(const PruneSpace& space, const Reader& reader) {
  std::vector<std::int32_t> units;
  for (const std::int32_t unit : space.Units(reader.layer.weight, reader.layer.in_axis)) {
    units.insert(units.end(), static_cast<std::size_t>(reader.form.taps), unit);
  }
  return units;
}

}  // namespace

UnitScores ScoreByCalibration(const Graph& canonical, const PruneSpace& space, ScoreMethod method,
                              const SampleSource& samples, const PruneCalibration& options,
                              const TargetRegistry& registry,
                              const std::function<void(double)>& progress) {
  Check(NeedsCalibration(method), "scores from calibration data");
  if (method == ScoreMethod::kTaylor) {
    return ScoreByGradients(canonical, space, samples, options, progress);
  }
  std::vector<Reader> readers = FindReaders(canonical, space);
  std::vector<std::string> names;
  for (const Reader& reader : readers) {
    names.push_back(NameOf(canonical, canonical.node(reader.layer.node).inputs.at(0)));
  }
  // One pass over the samples collects the second moments that all groups are scored by.
  const auto observe = [&](std::int64_t first, std::span<const Tensor> values) {
    for (std::size_t i = 0; i < readers.size(); ++i) {
      Reader& reader = readers[i];
      const Dims y = OutputDims(canonical, space, reader.layer, values[i]);
      const std::vector<std::int64_t> positions =
          PickPositions(canonical.node(reader.layer.node), y, options.positions,
                        PositionSeed(options, reader.number, first));
      const std::vector<float> rows = InputRows(canonical, reader.layer, values[i], y, positions);
      const std::int64_t stride = reader.form.groups * reader.form.inputs;
      for (std::size_t g = 0; g < reader.moments.size(); ++g) {
        reader.moments[g].Add(std::ssize(positions),
                              rows.data() + static_cast<std::int64_t>(g) * reader.form.inputs,
                              stride, nullptr, 0);
      }
    }
  };
  ObserveValues(canonical, names, samples, options.run, registry, observe, progress);

  UnitScores scores{.of_unit = std::vector<double>(space.units(), 0.0), .are_errors = true};
  for (const PruneGroup& group : space.groups()) {
    UnitElimination elimination;
    bool is_read = false;
    for (const Reader& reader : readers) {
      const std::vector<std::int32_t> units = UnitOfInputs(space, reader);
      const auto first = static_cast<std::int32_t>(group.first_unit);
      const auto end = first + static_cast<std::int32_t>(group.units);
      const bool reads = std::any_of(units.begin(), units.end(), [&](std::int32_t unit) {
        return unit >= first && unit < end;
      });
      if (!reads) continue;
      is_read = true;
      const std::vector<float> weights = ReadRows(canonical, reader.layer, reader.form);
      const std::size_t part = weights.size() / reader.moments.size();
      for (std::size_t g = 0; g < reader.moments.size(); ++g) {
        elimination.AddReader(reader.moments[g], std::span(weights).subspan(g * part, part), units);
      }
    }
    const auto into = scores.of_unit.begin() + static_cast<std::ptrdiff_t>(group.first_unit);
    if (!is_read) {
      const UnitScores by_weights = ScoreWeights(canonical, space, ScoreMethod::kL2, options.seed);
      std::copy_n(by_weights.of_unit.begin() + static_cast<std::ptrdiff_t>(group.first_unit),
                  group.units, into);
      scores.by_weights.push_back(group.name);
      continue;
    }
    // The outputs of all layers that read the group never vary: its units cost nothing.
    if (elimination.empty()) continue;
    const std::vector<double> found = elimination.Score(group, method);
    std::copy(found.begin(), found.end(), into);
  }
  return scores;
}

double WorkOfObs(const Graph& canonical, const PruneSpace& space) {
  double work = 0;
  for (const WeightedLayer& layer : FindWeightedLayers(canonical)) {
    const auto form = ReadLinearForm(canonical, layer);
    if (!form) continue;
    const auto inputs = static_cast<double>(form->inputs);
    const auto units = static_cast<double>(space.Units(layer.weight, layer.in_axis).size());
    if (units == 0) continue;
    // An inverse, and a step of elimination with the inputs of each unit.
    work += inputs * inputs * (inputs + units * static_cast<double>(form->taps));
  }
  return work;
}

namespace {

/// The values that are computed differently after pruning, apart from removed channels.
class Changes {
 public:
  Changes(const Graph& canonical, const PruneSpace& space, const std::vector<bool>& kept) {
    for (const NodeId id : canonical.order()) {
      const Node& node = canonical.node(id);
      bool changed = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId value) { return changed_.contains(value); });
      // Fewer products are summed than before if the node's sums got shorter.
      std::vector<bool> whole(kept.size(), true);
      changed = changed ||
                SummedSize(canonical, space, id, kept) != SummedSize(canonical, space, id, whole);
      if (!changed) continue;
      changed_.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  [[nodiscard]] bool Has(ValueId value) const { return changed_.contains(value); }

 private:
  /// Returns the multiply-adds for each output element, up to a constant.
  static double SummedSize(const Graph& graph, const PruneSpace& space, NodeId id,
                           const std::vector<bool>& kept) {
    const double macs = KeptMacs(graph, space, id, kept);
    if (macs == 0) return 0;
    double elements = 1;
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    const auto made = std::find_if(outputs.begin(), outputs.end(),
                                   [](ValueId value) { return value != kNoValue; });
    if (made == outputs.end()) return 0;
    const ValueId out = *made;
    for (std::size_t axis = 0; axis < space.Sizes(out)->size(); ++axis) {
      const auto& units = space.Units(out, axis);
      if (units.empty()) {
        elements *= static_cast<double>(space.Sizes(out)->at(axis));
        continue;
      }
      elements *= static_cast<double>(std::count_if(units.begin(), units.end(), [&](auto unit) {
        return unit < 0 || kept[static_cast<std::size_t>(unit)];
      }));
    }
    return macs / elements;
  }

  std::set<ValueId> changed_;
};

/// Returns the columns of rows that stay. `units` has the unit of each column.
std::vector<float> KeepColumns(std::vector<float> rows, const std::vector<std::int32_t>& units,
                               const std::vector<bool>& kept) {
  if (units.empty()) return rows;
  std::vector<float> result;
  for (std::size_t first = 0; first < rows.size(); first += units.size()) {
    for (std::size_t c = 0; c < units.size(); ++c) {
      if (units[c] < 0 || kept[static_cast<std::size_t>(units[c])]) {
        result.push_back(rows[first + c]);
      }
    }
  }
  return result;
}

/// Implements Reconstruct.
class Reconstruction {
 public:
  Reconstruction(const Graph& canonical, const PrunePlan& plan, const SampleSource& samples,
                 const PruneCalibration& options, const TargetRegistry& registry, Graph& pruned)
      : canonical_(canonical),
        space_(canonical),
        kept_(KeptUnits(space_, plan)),
        samples_(samples),
        options_(options),
        registry_(registry),
        pruned_(pruned) {}

  std::vector<ReconstructedLayer> Run(const std::function<void(double)>& progress) {
    std::vector<ReconstructedLayer> layers;
    const LayerRefit refit{
        .original = canonical_,
        .samples = samples_,
        .run = options_.run,
        .registry = registry_,
        .seed = options_.seed,
        .layers_a_stage = 1,
        .positions = [&](const LayerFit&) { return options_.positions; },
        .together = [&](std::span<const LayerFit> tasks) { return CountThatFit(tasks); },
        .wanted =
            [&](const LayerFit& task, std::vector<float> rows) {
              const ValueId output = canonical_.node(task.layer.node).outputs.at(0);
              return KeepColumns(std::move(rows), space_.Units(output, task.layer.channel_axis),
                                 kept_);
            },
        .fit = [&](const LayerFit& task,
                   const MomentsOfLayer& moments) { layers.push_back(Fit(task, moments)); },
        .changed = [&] { return pruned_; }};
    RefitLayers(refit, FindTasks(), progress);
    return layers;
  }

 private:
  [[nodiscard]] std::vector<LayerFit> FindTasks() const {
    const Changes changes(canonical_, space_, kept_);
    const std::vector<LayerChain> chains = FindLayerChains(canonical_);
    const std::vector<WeightedLayer> layers = FindWeightedLayers(canonical_);
    std::vector<LayerFit> tasks;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const ValueId output = canonical_.node(layers[i].node).outputs.at(0);
      const bool touched = options_.sparsity || changes.Has(output);
      if (!touched || space_.Sizes(output) == nullptr) continue;
      auto task = MakeLayerFit(canonical_, i, layers[i], chains);
      if (task) tasks.push_back(std::move(*task));
    }
    return tasks;
  }

  /// Returns how many of the first tasks can have their rows stored within the memory limit; at
  /// least one.
  [[nodiscard]] std::size_t CountThatFit(std::span<const LayerFit> tasks) const {
    double bytes = 0;
    std::size_t count = 0;
    for (const LayerFit& task : tasks) {
      bytes += RowBytes(task);
      if (bytes > kMaxRowBytes && count > 0) break;
      ++count;
    }
    return count;
  }

  /// Returns an upper limit of the bytes of a task's rows.
  [[nodiscard]] double RowBytes(const LayerFit& task) const {
    const Dims& sizes = *space_.Sizes(canonical_.node(task.layer.node).outputs.at(0));
    const auto channels = static_cast<double>(sizes.at(task.layer.channel_axis));
    double positions = 1;  // per sample; the outermost size counts as 1
    for (const std::int64_t size : sizes) positions *= static_cast<double>(size);
    positions = std::min(positions / channels, static_cast<double>(options_.positions));
    return sizeof(float) * static_cast<double>(samples_.count()) * positions * channels;
  }

  ReconstructedLayer Fit(const LayerFit& task, const MomentsOfLayer& moments) {
    // The node and its weights in the graph as changed so far.
    WeightedLayer layer = task.layer;
    layer.node = pruned_.FindNode(canonical_.node(task.layer.node).name);
    const Node& node = pruned_.node(layer.node);
    layer.weight = node.inputs.at(1);
    ChangedLayer changed{.graph = pruned_,
                         .layer = layer,
                         .form = ReadLinearForm(pruned_, layer).value(),
                         .observed = pruned_,
                         .inputs = {NameOf(pruned_, node.inputs.at(0))}};
    if (!task.residual.empty()) changed.inputs.push_back(task.residual);
    return Solve(task, layer, changed.form, moments(changed));
  }

  ReconstructedLayer Solve(const LayerFit& task, const WeightedLayer& layer, const LinearForm& form,
                           const std::vector<LinearMoments>& moments) {
    const bool has_bias = task.bias_node != kNoNode;
    // Nodes keep their names, and the plan does not move inputs.
    const NodeId bias_node =
        has_bias ? pruned_.FindNode(canonical_.node(task.bias_node).name) : kNoNode;
    Tensor bias(DType::kF32, {form.groups * form.outputs});
    if (has_bias) bias = *pruned_.constant(pruned_.node(bias_node).inputs.at(task.bias_input));
    std::vector<float> weights = ReadRows(pruned_, layer, form);
    const std::size_t part = weights.size() / moments.size();
    ReconstructedLayer result{.layer = pruned_.node(layer.node).name};
    for (std::size_t g = 0; g < moments.size(); ++g) {
      const auto outputs = static_cast<std::size_t>(form.outputs);
      LinearMoments::Fit fit = moments[g].Solve(
          std::span<const float>(weights).subspan(g * part, part),
          bias.Values<float>().subspan(g * outputs, outputs), has_bias, options_.ridge);
      if (options_.sparsity && PatternFits(*options_.sparsity, form)) {
        Sparsify(moments[g], form, has_bias, fit);
        result.zeros =
            result.zeros.value_or(0) + ZeroShare(fit.weights) / static_cast<double>(moments.size());
      }
      std::copy(fit.weights.begin(), fit.weights.end(),
                weights.begin() + static_cast<std::ptrdiff_t>(g * part));
      std::copy(fit.bias.begin(), fit.bias.end(),
                bias.MutableValues<float>().begin() + static_cast<std::ptrdiff_t>(g * outputs));
      result.error_before += fit.error_before / static_cast<double>(moments.size());
      result.error_after += fit.error_after / static_cast<double>(moments.size());
    }
    ReplaceConstant(pruned_, layer.node, 1, WriteRows(pruned_, layer, form, weights));
    if (has_bias) ReplaceConstant(pruned_, bias_node, task.bias_input, std::move(bias));
    return result;
  }

  void Sparsify(const LinearMoments& moments, const LinearForm& form, bool has_bias,
                LinearMoments::Fit& fit) const {
    // A free bias makes up for the mean of the inputs, so only their moments about it matter.
    const auto about = has_bias ? LinearMoments::About::kMean : LinearMoments::About::kZero;
    fit.weights =
        SparsifyRows(fit.weights, form, *options_.sparsity, moments.Gram(about), moments.threads());
    if (has_bias) fit.bias = MeanBias(moments, fit.weights);
    fit.error_after = moments.Error(fit.weights, fit.bias);
  }

  const Graph& canonical_;
  const PruneSpace space_;
  const std::vector<bool> kept_;
  const SampleSource& samples_;
  const PruneCalibration& options_;
  const TargetRegistry& registry_;
  Graph& pruned_;
};

}  // namespace

std::vector<ReconstructedLayer> Reconstruct(const Graph& canonical, const PrunePlan& plan,
                                            const SampleSource& samples,
                                            const PruneCalibration& options,
                                            const TargetRegistry& registry, Graph& pruned,
                                            const std::function<void(double)>& progress) {
  return Reconstruction(canonical, plan, samples, options, registry, pruned).Run(progress);
}

}  // namespace msc
