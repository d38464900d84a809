#pragma once

#include "compiler/ir/graph.h"

namespace msc {

/// Nested graphs (bodies of If, Loop, Scan) deeper than this are refused.
inline constexpr int kMaxGraphDepth = 8;

/// Checks the structural laws: unique names; every value read is produced earlier; use lists and
/// node inputs agree; outputs are produced; constants have the type of their tensor; dims are
/// sound; attributes are not null; nested graphs capture values that their node lists. Nested
/// graphs too. Throws UserError naming graph, node and value. Whether an operator takes such
/// inputs is CheckNode's matter. Linear up to logarithms in the size of the graph.
void Verify(const Graph& graph);

}  // namespace msc
