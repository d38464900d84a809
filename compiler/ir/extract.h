#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// Part of a graph as a graph of its own, with the names it had.
struct Extracted {
  Graph graph;
  /// Values of the whole graph that are its inputs and outputs, in their order there.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

/// Copies `nodes`, given in topological order, and the constants they read. What else they read
/// becomes an input, in order of first need; what other nodes read, or the caller of the whole
/// graph, becomes an output. UserError if a node has nested graphs that read values around them.
[[nodiscard]] Extracted Extract(const Graph& whole, std::span<const NodeId> nodes);

}  // namespace msc
