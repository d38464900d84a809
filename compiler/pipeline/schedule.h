#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/schedule.h"
#include "compiler/targets/target.h"

namespace msc {

/// Returns the nodes whose target can write their kernels in several ways. Nodes with equal kernels
/// are one entry; entries are in the order of their first nodes. Ignores schedules that nodes
/// already have.
[[nodiscard]] std::vector<ScheduledKernel> FindKernels(const Lowered& lowered,
                                                       const TargetRegistry& registry);

/// Writes schedules, by node name, onto the nodes of a lowered graph. UserError if there is no such
/// node, or if its target does not have that schedule for these sizes on this machine.
void ApplySchedules(const std::map<std::string, KernelSchedule>& schedules,
                    const TargetRegistry& registry, Lowered& lowered);

}  // namespace msc
