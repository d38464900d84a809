#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace msc::gym {

/// What a node of a lowered graph is for whoever compares targets: "convolution", "pointwise
/// convolution" (windows of one pixel), "depthwise convolution" (a channel each), "grouped
/// convolution", "matrix product", "attention", "pool", "normalisation", "reduction",
/// "elementwise", "data movement" or "other"; with " and PRelu" behind a layer that ends in one.
[[nodiscard]] std::string LayerKind(const Graph& graph, NodeId id);

}  // namespace msc::gym
