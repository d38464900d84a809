#include "compiler/codegen/onnx/scope.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace msc::detail {

bool Scope::HasValue(std::string_view name) const {
  return graph.FindValue(name) != kNoValue || (outer != nullptr && outer->HasValue(name));
}

bool Scope::HasNode(std::string_view name) const {
  return graph.FindNode(name) != kNoNode || (outer != nullptr && outer->HasNode(name));
}

Graph ForScope(const Graph& nested, const Scope& around) {
  Graph own = nested;
  for (const ValueId id : nested.captured()) {
    const ValueId outside = around.graph.FindValue(nested.value(id).name);
    if (outside != kNoValue) own.SetType(id, around.graph.type(outside));
  }
  InferTypes(own);
  const std::vector<ValueId> captured = own.captured();
  for (const ValueId id : own.values()) {
    const bool theirs = std::find(captured.begin(), captured.end(), id) != captured.end();
    if (theirs || !around.HasValue(own.value(id).name)) continue;
    std::string name = own.value(id).name;
    while (around.HasValue(name) || own.FindValue(name) != kNoValue) name += ".nested";
    own.RenameValue(id, std::move(name));
  }
  const std::vector<NodeId> order = own.order();
  for (const NodeId id : order) {
    std::string name = own.node(id).name;
    while (around.HasNode(name)) name += ".nested";
    if (name != own.node(id).name) own.RenameNode(id, own.FreeNodeName(name));
  }
  return own;
}

}  // namespace msc::detail
