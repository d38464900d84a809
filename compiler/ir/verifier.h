#pragma once

#include "compiler/ir/graph.h"

namespace msc {

/// Maximum nesting depth of graphs (bodies of If, Loop, Scan).
inline constexpr int kMaxGraphDepth = 8;

/// Checks the structure of a graph and its nested graphs: names are unique; every value is produced
/// before it is read; use lists agree with node inputs; outputs are produced; a constant's type is
/// that of its tensor; attributes are not null; a node lists all values that its nested graphs
/// capture. CheckNode, not this function, checks types against the operator. Throws UserError,
/// which names graph, node and value. Runs in O(n log n) time.
void Verify(const Graph& graph);

}  // namespace msc
