#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/runtime/executable.h"

namespace msc::gym {

/// The work of every step: of the nodes that it computes, whose costs are by name. Of several steps
/// for a node the longest has all of its work, among those that are called as the first of them:
/// what closes a layer, such as a PRelu behind it, has a name of its own and computes little,
/// however long it takes.
[[nodiscard]] std::vector<OpCost> WorkOf(std::span<const StepTime> steps,
                                         const std::map<std::string, OpCost>& costs);

}  // namespace msc::gym
