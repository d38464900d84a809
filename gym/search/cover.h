#pragma once

#include <memory>

#include "compiler/partition/problem.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Proposes the regions of the config's partition.targets and measures their costs, which the run
/// directory keeps. If `time` is limited, only whole graphs may exceed its part (time_parts), and
/// regions without a measured cost are excluded. Adds the targets of the regions to the runners.
/// Throws if a stop is requested. UserError if the run directory has the costs of other regions.
[[nodiscard]] std::shared_ptr<const CoverProblem> MeasureCover(const Preparation& preparation);

}  // namespace msc::gym
