#include "envs/common/bounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/region_precision.h"
#include "cost/analytic/least_work.h"

namespace msc::envs {
namespace {

/// Returns the precision in which a layer computes.
Precision PrecisionOf(const QuantizePlan& plan, const std::string& layer) {
  const auto it = plan.layers.find(layer);
  return it == plan.layers.end() ? Precision::kF32 : it->second;
}

/// Returns the stored bytes of one weight of a layer.
double WidthOf(const QuantizePlan& plan, const std::string& layer) {
  // Weights with a grid are stored as 8-bit integers in any precision.
  if (plan.weights.contains(layer)) return 1;
  switch (PrecisionOf(plan, layer)) {
    case Precision::kInt8:
      return 1;
    case Precision::kBF16:
      return 2;
    case Precision::kF32:
      break;
  }
  return 4;
}

/// Returns the nodes that depend on the values of graph inputs, not only on their sizes.
std::set<NodeId> NodesOfInputs(const Graph& graph) {
  std::set<ValueId> values(graph.inputs().begin(), graph.inputs().end());
  std::set<NodeId> nodes;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.Is("Shape") || node.Is("Size")) continue;
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId value) { return values.contains(value); })) {
      continue;
    }
    nodes.insert(id);
    values.insert(node.outputs.begin(), node.outputs.end());
    values.erase(kNoValue);  // missing optional outputs
  }
  return nodes;
}

/// Returns whether the model itself contains narrow values.
bool IsNarrowInPart(const Graph& graph) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.Is("QuantizeLinear") || node.Is("DequantizeLinear") || node.Is("Cast");
  });
}

/// Returns the highest peak among `narrowest` and all wider types: a layer may compute in a wider
/// type than it has to.
double PeakUpTo(Precision narrowest, const cost::Roof& roof) {
  double peak = roof.f32.per_second;
  if (narrowest != Precision::kF32) peak = std::max(peak, roof.bf16.per_second);
  if (narrowest == Precision::kInt8) peak = std::max(peak, roof.int8.per_second);
  return peak;
}

}  // namespace

Strategy NarrowedByTargets(const Graph& canonical, Strategy least,
                           const std::vector<std::string>& specs) {
  if (std::none_of(specs.begin(), specs.end(), [](const std::string& spec) {
        return PrecisionAsked(spec) == Precision::kBF16;
      })) {
    return least;
  }
  for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
    if (PrecisionOf(least.quantize, layer.name) == Precision::kF32) {
      least.quantize.layers[layer.name] = Precision::kBF16;
    }
  }
  return least;
}

double LeastWeightBytes(const Graph& canonical, const Strategy& least) {
  Graph graph = canonical;
  ApplyPrunePlan(least.prune, graph);
  std::map<ValueId, double> bytes;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const double own = WidthOf(least.quantize, graph.node(layer.node).name) *
                       static_cast<double>(graph.constant(layer.weight)->size());
    const auto [place, is_new] = bytes.emplace(layer.weight, own);
    // Shared weights are stored once, so the narrowest of their layers bounds them.
    if (!is_new) place->second = std::min(place->second, own);
  }
  double sum = 0;
  for (const auto& [weight, size] : bytes) sum += size;
  return sum;
}

std::optional<double> LeastMilliseconds(const Graph& canonical, const Strategy& least,
                                        const ComputeRoof& roof) {
  constexpr double kMargin = 2;  // the measured peak may be half of the real one
  constexpr double kMillis = 1e3;
  if (!roof.of_thread.complete) return std::nullopt;
  Graph pruned = canonical;
  ApplyPrunePlan(least.prune, pruned);
  const Graph graph = BindSizes(pruned, {});
  // A node that is not a quantizable layer may read its operands from any layer.
  Precision narrowest = IsNarrowInPart(graph) ? Precision::kInt8 : Precision::kF32;
  for (const auto& [layer, precision] : least.quantize.layers) {
    narrowest = std::max(narrowest, precision);
  }
  double seconds = 0;
  for (const NodeId id : NodesOfInputs(graph)) {
    const auto layer = least.quantize.layers.find(graph.node(id).name);
    const Precision precision = layer == least.quantize.layers.end() ? narrowest : layer->second;
    seconds += cost::LeastFlops(graph, id) / PeakUpTo(precision, roof.of_thread);
  }
  return kMillis * seconds / (kMargin * roof.threads);
}

}  // namespace msc::envs
