#pragma once

#include <vector>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Cuts the nodes of a region into groups: elementwise nodes join the kernel that makes the value
/// they change, where nothing else reads it. In an order in which every group finds its inputs
/// made. `nodes` in topological order.
[[nodiscard]] std::vector<Group> MakeGroups(const Lowering& lowering,
                                            const std::vector<NodeId>& nodes);
/// Puts groups of elementwise nodes alone into the one group that reads what they make, where its
/// kernel can compute them while it reads.
[[nodiscard]] std::vector<Group> WithPrologues(const Lowering& lowering, std::vector<Group> groups);

/// Tells `lowering` which zeros around values windows will want, and which values are made where a
/// Concat wants them.
void PlanLayouts(Lowering& lowering, const std::vector<Group>& groups);

}  // namespace msc::native
