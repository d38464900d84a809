#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

const ValueType& InputType(const Graph& graph, const Node& node) {
  return graph.type(node.inputs.front());
}

const ValueType& OutputType(const Graph& graph, const Node& node) {
  return graph.type(node.outputs.front());
}

bool IsOnlyOutputRead(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
    return id == kNoValue || (graph.uses(id).empty() && !graph.IsOutput(id));
  });
}

bool IsInferenceDropout(const Graph& graph, const Node& node) {
  if (!node.Is("Dropout") || !IsOnlyOutputRead(graph, node)) return false;
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return true;
  const TensorPtr training = graph.constant(node.inputs[2]);
  return training && training->size() == 1 && training->Values<std::uint8_t>().front() == 0;
}

Ints Permutation(const Graph& graph, const Node& node) {
  Ints perm = AttrOr<Ints>(node, "perm", {});
  const auto rank = Rank(InputType(graph, node));
  if (perm.empty() && rank) {  // absent: axes reversed
    perm.resize(*rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

bool IsCounting(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool IsZeroPad(const Graph& graph, const Node& node) {
  if (!node.Is("Pad") || node.inputs.size() < 2) return false;
  const TensorPtr pads = graph.constant(node.inputs[1]);
  if (!pads || pads->dtype() != DType::kI64) return false;
  const auto values = pads->Values<std::int64_t>();
  return std::all_of(values.begin(), values.end(), [](std::int64_t pad) { return pad == 0; });
}

bool OnlyChangesShape(const Node& node) {
  return node.Is("Reshape") || node.Is("Flatten") || node.Is("Squeeze") || node.Is("Unsqueeze");
}

bool DoesNothing(const Graph& graph, const Node& node) {
  if (node.Is("Identity")) return true;
  if (IsInferenceDropout(graph, node) || IsZeroPad(graph, node)) return true;
  if (node.Is("Concat")) return node.inputs.size() == 1;
  if (node.Is("Cast")) {
    return InputType(graph, node).dtype == OutputType(graph, node).dtype &&
           InputType(graph, node).dtype != DType::kUndefined;
  }
  if (node.Is("Transpose")) {
    return Rank(InputType(graph, node)) && IsCounting(Permutation(graph, node));
  }
  return OnlyChangesShape(node) && SurelySameShape(InputType(graph, node), OutputType(graph, node));
}

bool RemoveNothing(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.empty() || node.outputs.front() == kNoValue || !DoesNothing(graph, node)) {
    return false;
  }
  return Bypass(graph, id, node.inputs.front());
}

// The node before `node` on its first input, if it is the same operator.
NodeId SameBefore(const Graph& graph, const Node& node) {
  const NodeId before = graph.producer(node.inputs.front());
  if (before == kNoNode || !graph.node(before).Is(node.op)) return kNoNode;
  return before;
}

// Transpose(Transpose(x)) to one Transpose of x; that one goes in the next round if it counts up.
bool MergeTransposes(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Transpose")) return false;
  const NodeId before = SameBefore(graph, node);
  if (before == kNoNode) return false;
  const Ints first = Permutation(graph, graph.node(before));
  const Ints second = Permutation(graph, node);
  if (first.empty() || first.size() != second.size()) return false;
  Ints both;
  for (const std::int64_t axis : second) both.push_back(first.at(static_cast<std::size_t>(axis)));
  graph.SetAttr(id, "perm", both);
  graph.SetInput(id, 0, graph.node(before).inputs.front());
  return true;
}

// Reshape(Reshape(x)): only the last shape counts, unless it copies dimensions of its input (0).
bool MergeReshapes(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Reshape")) return false;
  const NodeId before = SameBefore(graph, node);
  if (before == kNoNode) return false;
  const TensorPtr target = graph.constant(node.inputs.at(1));
  if (!target) return false;
  const auto dims = target->Values<std::int64_t>();
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return false;
  graph.SetInput(id, 0, graph.node(before).inputs.front());
  return true;
}

}  // namespace

bool RemoveIdentities(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const bool merged = MergeTransposes(graph, id) || MergeReshapes(graph, id);
    const bool removed = RemoveNothing(graph, id);
    changed = changed || merged || removed;
  }
  return changed;
}

}  // namespace msc
