#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A part of a graph as a separate graph with the same names.
struct Extracted {
  Graph graph;
  /// Values of the whole graph that are the part's inputs and outputs, in the same order.
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
};

/// Copies `nodes`, which are in topological order, and the constants that they read. Other values
/// that they read become inputs, in order of first use. Values that remaining nodes or the graph's
/// outputs read become outputs. Throws UserError if a node has nested graphs that capture values.
[[nodiscard]] Extracted Extract(const Graph& whole, std::span<const NodeId> nodes);

}  // namespace msc
