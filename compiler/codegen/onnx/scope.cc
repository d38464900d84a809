#include "compiler/codegen/onnx/scope.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"

namespace msc::detail {
namespace {

std::string FreeValueName(const Graph& graph, const Scope& around, std::string name) {
  while (around.HasValue(name) || graph.FindValue(name) != kNoValue) name += ".nested";
  return name;
}

std::string FreeNodeName(const Graph& graph, const Scope& around, std::string name) {
  while (around.HasNode(name) || graph.FindNode(name) != kNoNode) name += ".nested";
  return name;
}

void RenameOwn(Graph& graph, const Scope& around) {
  const std::vector<ValueId> captured = graph.captured();
  for (const ValueId id : graph.values()) {
    const std::string name = graph.value(id).name;
    const bool theirs = std::find(captured.begin(), captured.end(), id) != captured.end();
    if (!theirs && around.HasValue(name)) graph.RenameValue(id, FreeValueName(graph, around, name));
  }
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const std::string name = graph.node(id).name;
    if (around.HasNode(name)) graph.RenameNode(id, FreeNodeName(graph, around, name));
  }
}

/// Makes the outputs different values that nodes of the graph make, as ONNX Runtime wants them.
void MakeOutputs(Graph& graph, const Scope& around) {
  std::set<ValueId> seen;
  std::vector<ValueId> outputs = graph.outputs();
  for (ValueId& output : outputs) {
    if (seen.insert(output).second && graph.producer(output) != kNoNode) continue;
    const std::string stem = graph.value(output).name + ".output";
    Node identity;
    identity.op = "Identity";
    identity.name = FreeNodeName(graph, around, stem);
    identity.inputs = {output};
    output = graph.AddValue(FreeValueName(graph, around, stem), graph.type(output));
    identity.outputs = {output};
    graph.AddNode(std::move(identity));
  }
  graph.SetOutputs(std::move(outputs));
}

}  // namespace

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
  RenameOwn(own, around);
  MakeOutputs(own, around);
  return own;
}

}  // namespace msc::detail
