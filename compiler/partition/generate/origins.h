#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/partition/dataflow.h"

namespace msc {

/// Maps nodes of a lowered graph back to nodes of the graph that was lowered, through the values
/// that both contain: those of the same name and type. All three graphs must outlive this object.
class Origins {
 public:
  /// `flow` is the DataflowGraph of `graph`.
  Origins(const Graph& graph, const DataflowGraph& flow, const Graph& lowered);

  /// Returns the nodes of the original graph between the inputs and the outputs of node `id` of the
  /// lowered graph; nullopt if none of its outputs is in the original graph, or if these nodes need
  /// an input that lowering moved elsewhere.
  [[nodiscard]] std::optional<IndexSet> Of(NodeId id) const;

 private:
  /// Returns the value of the original graph that equals `value` of the lowered graph; kNoValue if
  /// there is none.
  [[nodiscard]] ValueId Same(ValueId value) const;
  /// Returns the values of the original graph that `id` reads, directly or through nodes that
  /// lowering added.
  [[nodiscard]] std::set<ValueId> ReadBy(NodeId id) const;

  const Graph& graph_;
  const DataflowGraph& flow_;
  const Graph& lowered_;
  std::map<std::string, FlowIndex, std::less<>> index_;
};

}  // namespace msc
