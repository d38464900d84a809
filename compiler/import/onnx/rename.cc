#include "compiler/import/onnx/rename.h"

#include <utility>

#include <onnx/onnx_pb.h>

namespace msc::detail {
namespace {

/// Calls `visit` with every name of a value that the graph itself defines.
void ForEachLocal(const onnx::GraphProto& graph,
                  const std::function<void(const std::string&)>& visit) {
  for (const auto& input : graph.input()) visit(input.name());
  for (const auto& initializer : graph.initializer()) visit(initializer.name());
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) visit(name);
  }
}

void Rename(const Renames& renames, std::string& name) {
  const auto it = renames.find(name);
  if (it != renames.end()) name = it->second;
}

/// Renames everything in a graph, its own names too if `renames` has them.
void RenameAll(const Renames& renames, onnx::GraphProto& graph) {
  for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (auto& info : *list) Rename(renames, *info.mutable_name());
  }
  for (auto& initializer : *graph.mutable_initializer()) {
    Rename(renames, *initializer.mutable_name());
  }
  for (auto& node : *graph.mutable_node()) RenameNode(renames, node);
}

/// Renames what a nested graph reads from outside.
void RenameNested(const Renames& renames, onnx::GraphProto& graph) {
  Renames visible = renames;
  ForEachLocal(graph, [&](const std::string& name) { visible.erase(name); });
  if (!visible.empty()) RenameAll(visible, graph);
}

}  // namespace

void ValueNames::TakeAll(const onnx::GraphProto& graph) {
  ForEachLocal(graph, [this](const std::string& name) { taken_.insert(name); });
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) TakeAll(attribute.g());
      for (const auto& nested : attribute.graphs()) TakeAll(nested);
    }
  }
}

std::string ValueNames::Fresh(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  return name;
}

void RenameNode(const Renames& renames, onnx::NodeProto& node) {
  for (auto* list : {node.mutable_input(), node.mutable_output()}) {
    for (std::string& name : *list) Rename(renames, name);
  }
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RenameNested(renames, *attribute.mutable_g());
    for (auto& nested : *attribute.mutable_graphs()) RenameNested(renames, nested);
  }
}

Renames MakeNamesUnique(const std::string& prefix, ValueNames& names, onnx::GraphProto& graph) {
  Renames renames;
  ForEachLocal(graph, [&](const std::string& name) {
    if (!name.empty() && !renames.contains(name)) {
      renames.emplace(name, names.Fresh(prefix + "." + name));
    }
  });
  RenameAll(renames, graph);
  return renames;
}

}  // namespace msc::detail
