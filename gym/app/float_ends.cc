#include "gym/app/float_ends.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"

namespace msc::gym {
namespace {

constexpr double kMostWork = 0.02;
constexpr double kFlopsAByte = 10;
/// Share of the loss that may remain.
constexpr double kPays = 0.75;

/// Returns the layers that depend on no other of `layers`.
std::set<NodeId> FindFirst(const Graph& graph, const std::set<NodeId>& layers) {
  std::set<ValueId> behind;  // values that depend on a layer
  std::set<NodeId> first;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool follows = std::ranges::any_of(
        node.inputs, [&](ValueId input) { return input != kNoValue && behind.contains(input); });
    const bool is_layer = layers.contains(id);
    if (is_layer && !follows) first.insert(id);
    if (is_layer || follows) behind.insert(node.outputs.begin(), node.outputs.end());
  }
  return first;
}

/// Returns the layers on which no other of `layers` depends.
std::set<NodeId> FindLast(const Graph& graph, const std::set<NodeId>& layers) {
  std::set<ValueId> before;  // values that a layer depends on
  std::set<NodeId> last;
  std::vector<NodeId> order = graph.order();
  std::ranges::reverse(order);
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const bool precedes =
        std::ranges::any_of(node.outputs, [&](ValueId output) { return before.contains(output); });
    const bool is_layer = layers.contains(id);
    if (is_layer && !precedes) last.insert(id);
    if (is_layer || precedes) before.insert(node.inputs.begin(), node.inputs.end());
  }
  return last;
}

}  // namespace

BothEnds FindEnds(const Graph& canonical, std::span<const Tensor> inputs) {
  Graph graph = canonical;
  InferTypes(graph, BindingsFor(graph, inputs));
  std::set<NodeId> layers;
  double all = 0;
  std::map<std::string, double> work;
  double all_work = 0;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    const NodeId id = graph.FindNode(layer.name);
    layers.insert(id);
    const OpCost cost = CostOf(graph, id);
    all += cost.flops;
    work[layer.name] = cost.flops + kFlopsAByte * cost.bytes;
    all_work += work[layer.name];
  }
  const auto end_of = [&](const std::set<NodeId>& nodes) {
    EndLayers end;
    for (const NodeId id : graph.order()) {
      if (!nodes.contains(id)) continue;
      end.names.push_back(graph.node(id).name);
      end.share += all > 0 ? CostOf(graph, id).flops / all : 0;
    }
    return end;
  };
  for (auto& [layer, share] : work) share /= std::max(all_work, 1.0);
  return {.first = end_of(FindFirst(graph, layers)),
          .last = end_of(FindLast(graph, layers)),
          .work = std::move(work),
          .flops = all};
}

std::set<std::string> ChooseFloatEnds(
    const BothEnds& ends, const std::function<double(const std::set<std::string>& kept)>& loss) {
  std::set<std::string> kept;
  double least = loss(kept);
  for (const EndLayers* end : {&ends.last, &ends.first}) {
    if (end->names.empty() || end->share > kMostWork) continue;
    std::set<std::string> more = kept;
    more.insert(end->names.begin(), end->names.end());
    const double found = loss(more);
    if (!(found <= kPays * least)) continue;
    kept = std::move(more);
    least = found;
  }
  return kept;
}

}  // namespace msc::gym
