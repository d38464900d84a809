#include "compiler/import/onnx/rename.h"

#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

namespace msc::detail {
namespace {

/// Calls `visit` with every name of a value that the graph itself defines.
void ForEachLocal(const onnx::GraphProto& graph,
                  const std::function<void(const std::string&)>& visit) {
  for (const auto& input : graph.input()) visit(input.name());
  for (const auto& initializer : graph.initializer()) visit(initializer.name());
  for (const auto& sparse : graph.sparse_initializer()) visit(sparse.values().name());
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) visit(name);
  }
}

/// Renames values in a node or a graph and in what is nested there.
class Renamer {
 public:
  explicit Renamer(const Renames& renames) : renames_(renames) {}

  void Rename(onnx::NodeProto& node) {
    for (auto* list : {node.mutable_input(), node.mutable_output()}) {
      for (std::string& name : *list) Rename(name);
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameNested(*attribute.mutable_g());
      for (auto& nested : *attribute.mutable_graphs()) RenameNested(nested);
    }
  }
  void Rename(onnx::GraphProto& graph) {
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& info : *list) Rename(*info.mutable_name());
    }
    for (auto& initializer : *graph.mutable_initializer()) Rename(*initializer.mutable_name());
    for (auto& sparse : *graph.mutable_sparse_initializer()) {
      Rename(*sparse.mutable_values()->mutable_name());
    }
    for (auto& node : *graph.mutable_node()) Rename(node);
  }

 private:
  void Rename(std::string& name) const {
    const auto it = renames_.find(name);
    if (it != renames_.end() && !hidden_.contains(name)) name = it->second;
  }
  /// The names that a nested graph defines hide those around it.
  void RenameNested(onnx::GraphProto& graph) {
    std::vector<std::string> local;
    ForEachLocal(graph, [&](const std::string& name) {
      if (renames_.contains(name)) local.push_back(name);
    });
    for (const std::string& name : local) hidden_.insert(name);
    Rename(graph);
    for (const std::string& name : local) hidden_.erase(hidden_.find(name));
  }

  const Renames& renames_;
  std::multiset<std::string> hidden_;
};

}  // namespace

void ValueNames::TakeAll(const onnx::GraphProto& graph) {
  // SSA: a graph defines a name once, so two definitions are of two graphs.
  ForEachLocal(graph, [this](const std::string& name) { Take(name); });
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) TakeAll(attribute.g());
      for (const auto& nested : attribute.graphs()) TakeAll(nested);
    }
  }
}

bool ValueNames::IsShared(const std::string& name) const {
  const auto it = taken_.find(name);
  return it != taken_.end() && it->second > 1;
}

std::string ValueNames::Fresh(const std::string& stem) {
  if (taken_.emplace(stem, 1).second) return stem;
  int& last = last_[stem];  // without it, many calls of a function would try all names each time
  std::string name;
  do {
    name = stem + "_" + std::to_string(++last);
  } while (!taken_.emplace(name, 1).second);
  return name;
}

void RenameNode(const Renames& renames, onnx::NodeProto& node) {
  Renamer(renames).Rename(node);
}

Renames MakeNamesUnique(const std::string& prefix, ValueNames& names, onnx::GraphProto& graph) {
  Renames renames;
  ForEachLocal(graph, [&](const std::string& name) {
    if (!name.empty() && names.IsShared(name) && !renames.contains(name)) {
      renames.emplace(name, names.Fresh(prefix + "." + name));
    }
  });
  Renamer(renames).Rename(graph);
  return renames;
}

}  // namespace msc::detail
