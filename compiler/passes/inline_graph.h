#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// Copies a nested graph into the graph around it, once or several times. All must outlive it.
class Inliner {
 public:
  /// `nested` is a graph of node `of` in `graph`.
  Inliner(Graph& graph, NodeId of, const Graph& nested) : graph_(graph), of_(of), nested_(nested) {}

  /// Adds copies of the nodes in front of the node, with `inputs`, values of the outer graph, in
  /// place of the nested graph's inputs. Returns the values of its outputs in the outer graph.
  /// Types are inferred anew.
  [[nodiscard]] std::vector<ValueId> Copy(std::span<const ValueId> inputs);

 private:
  void CopyNode(const Node& node, std::map<ValueId, ValueId>& values);

  Graph& graph_;
  NodeId of_;
  const Graph& nested_;
  std::map<ValueId, ValueId> constants_;  ///< of the outer graph, which all copies share
};

}  // namespace msc
