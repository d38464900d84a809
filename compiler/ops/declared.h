#pragma once

#include "compiler/ir/graph.h"

namespace msc {

/// Returns whether inference derives the types of the node's outputs from its input types and
/// constants. If not, the types are those that the model declares, and the actual outputs may
/// differ, so code that computes the node must not rely on them.
[[nodiscard]] bool TypesFollow(const Graph& graph, NodeId id);

}  // namespace msc
