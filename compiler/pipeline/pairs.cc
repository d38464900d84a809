#include "compiler/pipeline/pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/formatted.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitting_batch.h"
#include "compiler/pipeline/samples.h"

namespace msc {
namespace {

/// Most output positions of a layer that are checked.
constexpr std::int64_t kRows = 64;

struct Checked {
  std::string name;
  WeightedLayer layer;
  LinearForm form;
};

template <class T>
std::span<const T> Part(const std::vector<T>& all, std::int64_t part, std::int64_t size) {
  return std::span<const T>(all).subspan(static_cast<std::size_t>(part * size),
                                         static_cast<std::size_t>(size));
}

/// Returns the integers of activations as unsigned values; signed ones are stored with 128 added.
std::vector<std::uint8_t> Unsigned(const std::vector<float>& x, const TensorScale& scale) {
  const bool is_signed = scale.dtype == "i8";
  const double stored_least = is_signed ? -128 : 0;
  const double count = static_cast<double>(std::int64_t{1} << scale.bits);
  const double least = is_signed ? -count / 2 : 0;
  std::vector<std::uint8_t> values;
  values.reserve(x.size());
  for (const float value : x) {
    // Halves go to the even integer, as with QuantizeLinear of ONNX.
    const double level =
        std::nearbyint(value / scale.scale) + static_cast<double>(scale.zero_point);
    values.push_back(
        static_cast<std::uint8_t>(std::clamp(level, least, least + count - 1) - stored_least));
  }
  return values;
}

/// Returns the integers of a layer's weights, as rows.
std::vector<std::int8_t> Levels(const std::vector<float>& rows, std::int64_t inputs,
                                const WeightGrid* grid) {
  std::vector<std::int8_t> levels;
  levels.reserve(rows.size());
  const int bits = grid == nullptr ? 8 : static_cast<int>(grid->bits);
  const double most = LargestLevel(bits);
  for (std::int64_t r = 0; r * inputs < std::ssize(rows); ++r) {
    const auto row = Part(rows, r, inputs);
    const bool listed = grid != nullptr && !grid->scales.empty();
    const double scale =
        listed ? grid->scales.at(static_cast<std::size_t>(r)) : MaxScale(row, bits);
    const bool affine = listed && !grid->zero_points.empty();
    const auto zero =
        static_cast<double>(affine ? grid->zero_points.at(static_cast<std::size_t>(r)) : 0);
    const double least = affine ? -most - 1 : -most;
    for (const float weight : row) {
      levels.push_back(
          static_cast<std::int8_t>(std::clamp(std::nearbyint(weight / scale) + zero, least, most)));
    }
  }
  return levels;
}

/// Returns the sums of one layer, whose inputs over a batch are `x` and whose outputs have shape
/// `y`.
PairSums SumsOf(const Checked& each, const QuantizePlan& plan, const Graph& graph, const Tensor& x,
                const Dims& y) {
  const Node& node = graph.node(each.layer.node);
  std::vector<std::int64_t> positions =
      PickPositions(node, y, std::max<std::int64_t>(1, kRows / y[0]), 0);
  positions.resize(std::min<std::size_t>(positions.size(), kRows));
  const std::vector<std::uint8_t> inputs =
      Unsigned(InputRows(graph, each.layer, x, y, positions),
               plan.activations.at(graph.value(node.inputs.at(0)).name));
  const auto grid = plan.weights.find(each.name);
  const std::vector<std::int8_t> levels =
      Levels(ReadRows(graph, each.layer, each.form), each.form.inputs,
             grid == plan.weights.end() ? nullptr : &grid->second);
  PairSums sums;
  const std::int64_t width = each.form.groups * each.form.inputs;
  for (std::int64_t g = 0; g < each.form.groups; ++g) {
    std::vector<std::uint8_t> part;
    for (std::int64_t r = 0; r * width < std::ssize(inputs); ++r) {
      const auto from = inputs.begin() + r * width + g * each.form.inputs;
      part.insert(part.end(), from, from + each.form.inputs);
    }
    const PairSums found = CheckPairSums(Part(levels, g, each.form.outputs * each.form.inputs),
                                         part, each.form.inputs / each.form.taps, each.form.taps);
    sums.can_saturate += found.can_saturate / static_cast<double>(each.form.groups);
    sums.saturated += found.saturated / static_cast<double>(each.form.groups);
  }
  return sums;
}

}  // namespace

std::map<std::string, PairSums> CheckPairs(const QuantizePlan& plan, const Graph& graph,
                                           const SampleSource& samples, const CalibrationRun& run,
                                           const TargetRegistry& registry) {
  std::vector<Checked> checked;
  std::vector<std::string> names;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const Node& node = graph.node(layer.node);
    const auto form = ReadLinearForm(graph, layer);
    const auto precision = plan.layers.find(node.name);
    if (!form || precision == plan.layers.end() || precision->second != Precision::kInt8) {
      continue;
    }
    checked.push_back({node.name, layer, *form});
    names.push_back(graph.value(node.inputs.at(0)).name);
    names.push_back(graph.value(node.outputs.at(0)).name);
  }
  std::map<std::string, PairSums> pairs;
  if (checked.empty()) return pairs;
  // One batch suffices to see which sums are large.
  const std::vector<Tensor> batch =
      samples.Read(0, std::min(samples.GroupEnd(0),
                               BatchSize(graph, FittingBatch(graph, names, samples, run.batch))));
  ObserveValues(graph, names, TensorSamples(batch), run, registry,
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  for (std::size_t i = 0; i < checked.size(); ++i) {
                    pairs[checked[i].name] =
                        SumsOf(checked[i], plan, graph, values[2 * i], values[2 * i + 1].dims());
                  }
                });
  return pairs;
}

std::optional<WorstPairs> FindWorstPairs(const std::map<std::string, PairSums>& pairs) {
  std::optional<WorstPairs> worst;
  for (const auto& [layer, sums] : pairs) {
    if (sums.saturated > (worst ? worst->saturated : 0.0)) worst = {layer, sums.saturated};
  }
  return worst;
}

std::string PairsText(const WorstPairs& worst, bool has_vnni) {
  return std::string(has_vnni ? "note" : "warning") +
         ": kernels that add 8-bit products in 16 bits, as libraries do on CPUs without VNNI, "
         "would be wrong in up to " +
         Formatted("%.2f %%", 100 * worst.saturated) + " of a layer's outputs ('" + worst.layer +
         "'); weights of 7 bits rule that out" +
         (has_vnni ? ". This CPU has VNNI" : ", and with AVX2 native is faster with them");
}

}  // namespace msc
