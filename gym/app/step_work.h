#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/runtime/executable.h"

namespace msc::gym {

/// Returns the work of every step: the sum over its nodes, whose costs are given by name. If
/// several steps compute a node, the work goes to the longest of those that share the name of the
/// first one. An epilogue of a layer, such as a PRelu, has a name of its own and computes little,
/// however long it takes.
[[nodiscard]] std::vector<OpCost> WorkOf(std::span<const StepTime> steps,
                                         const std::map<std::string, OpCost>& costs);

}  // namespace msc::gym
