#pragma once

#include "compiler/compress/prune/axes.h"

namespace msc {

/// Applies the rule of every node: relates the axes of its inputs and outputs. Fixes axes of graph
/// inputs and outputs, symbolic axes, and all axes of operators without a rule.
[[nodiscard]] GraphAxes RelateAxes(const Graph& graph);

}  // namespace msc
