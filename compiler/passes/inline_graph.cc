#include "compiler/passes/inline_graph.h"

#include <memory>
#include <utility>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Renames what `nested` captures. New names may equal old ones of others, so all get one that is
/// free first.
GraphPtr WithCaptures(const Graph& nested, const std::map<std::string, std::string>& renames) {
  auto graph = std::make_shared<Graph>(nested);
  std::map<ValueId, std::string> wanted;
  for (const ValueId id : graph->captured()) {
    const auto it = renames.find(graph->value(id).name);
    if (it != renames.end() && it->second != it->first) wanted.emplace(id, it->second);
  }
  for (const auto& [id, name] : wanted) {
    graph->RenameValue(id, graph->FreeValueName(name + ".captured"));
  }
  for (const auto& [id, name] : wanted) {
    // A local value of this name keeps out of the way.
    if (const ValueId other = graph->FindValue(name); other != kNoValue) {
      graph->RenameValue(other, graph->FreeValueName(name + ".local"));
    }
    graph->RenameValue(id, name);
  }
  return graph;
}

}  // namespace

std::vector<ValueId> Inliner::Copy(std::span<const ValueId> inputs) {
  Check(inputs.size() == nested_.inputs().size(), "a nested graph gets all of its inputs");
  std::map<ValueId, ValueId> values = constants_;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[nested_.inputs()[i]] = inputs[i];
  for (const ValueId id : nested_.captured()) {
    values[id] = graph_.FindValue(nested_.value(id).name);
  }
  if (constants_.empty()) {
    for (const ValueId id : nested_.constants()) {
      const std::string name = graph_.FreeValueName(nested_.value(id).name);
      values[id] = constants_[id] = graph_.AddConstant(name, nested_.constant(id));
    }
  }
  for (const NodeId id : nested_.order()) CopyNode(nested_.node(id), values);
  std::vector<ValueId> outputs;
  for (const ValueId id : nested_.outputs()) outputs.push_back(values.at(id));
  return outputs;
}

void Inliner::CopyNode(const Node& node, std::map<ValueId, ValueId>& values) {
  Node copy = node;
  copy.name = graph_.FreeNodeName(node.name);
  const auto mapped = [&](ValueId id) { return id == kNoValue ? id : values.at(id); };
  for (ValueId& id : copy.inputs) id = mapped(id);
  std::map<std::string, std::string> renames;
  for (ValueId& id : copy.captures) {
    const ValueId outer = mapped(id);
    renames[nested_.value(id).name] = graph_.value(outer).name;
    id = outer;
  }
  for (auto& [name, attr] : copy.attrs) {
    if (auto* inner = std::get_if<GraphPtr>(&attr)) *inner = WithCaptures(**inner, renames);
  }
  for (ValueId& id : copy.outputs) {
    if (id == kNoValue) continue;
    // Sizes may differ from one iteration to the next, so they are inferred.
    const ValueType& type = nested_.type(id);
    const ValueId made = graph_.AddValue(graph_.FreeValueName(nested_.value(id).name),
                                         {.dtype = type.dtype, .container = type.container});
    values[id] = made;
    id = made;
  }
  InferNodeTypes(graph_, graph_.AddNode(std::move(copy), of_));
}

}  // namespace msc
