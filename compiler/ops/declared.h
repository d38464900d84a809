#pragma once

#include "compiler/ir/graph.h"

namespace msc {

/// Whether the types of a node's outputs follow from those of its inputs and from constants. Else
/// they are as the model declares them, and the values of inputs may make others: who computes the
/// node must not believe them.
[[nodiscard]] bool TypesFollow(const Graph& graph, NodeId id);

}  // namespace msc
