#include "compiler/partition/generate/origins.h"

#include <vector>

namespace msc {

Origins::Origins(const Graph& graph, const DataflowGraph& flow, const Graph& lowered)
    : graph_(graph), flow_(flow), lowered_(lowered) {
  for (FlowIndex i = 0; i < flow.size(); ++i) index_.emplace(flow.node(i).name, i);
}

std::optional<IndexSet> Origins::Of(NodeId id) const {
  std::vector<ValueId> made;
  for (const ValueId output : lowered_.node(id).outputs) {
    if (const ValueId same = Same(output); same != kNoValue) made.push_back(same);
  }
  if (made.empty()) return std::nullopt;
  const std::set<ValueId> read = ReadBy(id);
  IndexSet nodes = flow_.EmptySet();
  std::set<NodeId> seen;
  while (!made.empty()) {
    const ValueId value = made.back();
    made.pop_back();
    if (read.contains(value) || graph_.constant(value) != nullptr) continue;
    const NodeId producer = graph_.producer(value);
    if (producer == kNoNode) return std::nullopt;
    if (!seen.insert(producer).second) continue;
    const Node& node = graph_.node(producer);
    if (const auto it = index_.find(node.name); it != index_.end()) nodes.Insert(it->second);
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) made.push_back(input);
    }
  }
  if (nodes.empty()) return std::nullopt;
  return nodes;
}

ValueId Origins::Same(ValueId value) const {
  if (value == kNoValue) return kNoValue;
  const ValueId found = graph_.FindValue(lowered_.value(value).name);
  if (found == kNoValue || !(graph_.type(found) == lowered_.type(value))) return kNoValue;
  return found;
}

std::set<ValueId> Origins::ReadBy(NodeId id) const {
  std::set<ValueId> read;
  std::set<NodeId> seen = {id};
  std::vector<NodeId> stack = {id};
  while (!stack.empty()) {
    const Node& node = lowered_.node(stack.back());
    stack.pop_back();
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || lowered_.constant(input) != nullptr) continue;
      const ValueId same = Same(input);
      const NodeId producer = lowered_.producer(input);
      if (same != kNoValue) {
        read.insert(same);
      } else if (producer != kNoNode && seen.insert(producer).second) {
        stack.push_back(producer);
      }
    }
  }
  return read;
}

}  // namespace msc
