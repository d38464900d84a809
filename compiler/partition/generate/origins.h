#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/partition/dataflow.h"

namespace msc {

/// Relates what lowering made to the nodes of the graph that was lowered, through the values that
/// both have: of the same name and type. All three graphs outlive it.
class Origins {
 public:
  /// `flow` is of `graph`.
  Origins(const Graph& graph, const DataflowGraph& flow, const Graph& lowered);

  /// The nodes that lie between what `id` of the lowered graph reads and makes; nullopt where it
  /// makes nothing that the graph has, or needs what lowering put elsewhere.
  [[nodiscard]] std::optional<IndexSet> Of(NodeId id) const;

 private:
  /// The value of the graph that `value` of the lowered graph is.
  [[nodiscard]] ValueId Same(ValueId value) const;
  /// Values of the graph that `id` reads, seen through nodes that lowering added.
  [[nodiscard]] std::set<ValueId> ReadBy(NodeId id) const;

  const Graph& graph_;
  const DataflowGraph& flow_;
  const Graph& lowered_;
  std::map<std::string, FlowIndex, std::less<>> index_;
};

}  // namespace msc
