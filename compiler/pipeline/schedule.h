#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/schedule.h"
#include "compiler/targets/target.h"

namespace msc {

/// Nodes whose kernels can be written in several ways by who runs them: those with equal kernels
/// together, in the order of their first nodes. Schedules that nodes carry do not count.
[[nodiscard]] std::vector<ScheduledKernel> FindKernels(const Lowered& lowered,
                                                       const TargetRegistry& registry);

/// Writes schedules, by node name, onto the nodes of a lowered graph. UserError if there is no such
/// node, or if who runs it cannot have that schedule for these sizes and on this machine.
void ApplySchedules(const std::map<std::string, KernelSchedule>& schedules,
                    const TargetRegistry& registry, Lowered& lowered);

}  // namespace msc
