#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ops/narrow.h"

// Graph inputs and outputs in the types that they have in a file, where nodes compute in others.

namespace msc::detail {

/// Narrow types of graph inputs and outputs by name.
using NarrowEnds = std::map<std::string, const NarrowType*>;

/// Returns the narrow types that the model's file gave to graph inputs and outputs, and separates
/// these by a Cast each: all readers of such an input read the Cast, and such an output is made by
/// a msc.CastNarrow and read by nobody. The file has the Casts from and to the narrow types.
[[nodiscard]] NarrowEnds SeparateNarrowEnds(Graph& graph);

/// Separates the graph inputs and outputs of type bf16 by a Cast from or to f32 each, so that nodes
/// can compute in f32 while callers keep bf16.
void SeparateBf16Ends(Graph& graph);

}  // namespace msc::detail
