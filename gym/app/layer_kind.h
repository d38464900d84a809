#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace msc::gym {

/// Returns the kind of a node of a lowered graph, for comparisons of targets: "convolution",
/// "pointwise convolution" (1x1 window), "depthwise convolution" (one channel per group), "grouped
/// convolution", "matrix product", "attention", "pool", "normalisation", "reduction",
/// "elementwise", "data movement" or "other"; with " and PRelu" if the layer's epilogue ends in
/// one.
[[nodiscard]] std::string LayerKind(const Graph& graph, NodeId id);

}  // namespace msc::gym
