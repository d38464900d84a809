#pragma once

#include <functional>

#include "cost/farm/coordinator.h"
#include "gym/app/command.h"

namespace msc::gym {

/// Joins the MPI farm: rank 0 runs `coordinate` with the farm, and the other ranks serve it until
/// told to leave. Without mpirun, or with a single rank, runs `coordinate` without a farm. Returns
/// the exit code.
[[nodiscard]] int RunCoordinatorOrWorker(
    const AppContext& context, const std::function<int(cost::FarmEvaluator* farm)>& coordinate);

}  // namespace msc::gym
