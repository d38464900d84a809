#include <algorithm>
#include <vector>

#include "compiler/passes/passes.h"

namespace msc {
namespace {

bool IsRead(const Graph& graph, ValueId value) {
  return value != kNoValue && (!graph.uses(value).empty() || graph.IsOutput(value));
}

}  // namespace

bool RemoveDeadCode(Graph& graph) {
  bool changed = false;
  // In reverse order, so that one sweep also removes nodes that only dead nodes read.
  std::vector<NodeId> order = graph.order();
  std::reverse(order.begin(), order.end());
  for (const NodeId id : order) {
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    const bool live = std::any_of(outputs.begin(), outputs.end(),
                                  [&](ValueId value) { return IsRead(graph, value); });
    if (live) continue;
    graph.RemoveNode(id);
    changed = true;
  }
  for (const ValueId id : graph.constants()) {
    if (IsRead(graph, id)) continue;
    graph.RemoveConstant(id);
    changed = true;
  }
  return changed;
}

}  // namespace msc
