#pragma once

#include <vector>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Cuts the nodes of a region, given in topological order, into groups. An elementwise node joins
/// the kernel that computes one of its operands if no other node reads that operand. In the order
/// of the groups, the inputs of each group are computed before it.
[[nodiscard]] std::vector<Group> MakeGroups(const Lowering& lowering,
                                            const std::vector<NodeId>& nodes);
/// Moves each purely elementwise group into the single group that reads its result, as a prologue,
/// if that group's kernel can compute the values while it reads them.
[[nodiscard]] std::vector<Group> WithPrologues(const Lowering& lowering, std::vector<Group> groups);

/// Tells `lowering` which halos the windows of convolutions need, and which values are written
/// directly into the result of a Concat.
void PlanLayouts(Lowering& lowering, const std::vector<Group>& groups);

}  // namespace msc::native
