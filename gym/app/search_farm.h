#pragma once

#include <functional>

#include "cost/farm/coordinator.h"
#include "gym/app/command.h"

namespace msc::gym {

/// Under mpirun, joins the farm: rank 0 runs `coordinate` with it, the others work until told to
/// leave. Without it, or with one rank, runs `coordinate` without a farm. Returns the exit code.
[[nodiscard]] int RunCoordinatorOrWorker(
    const AppContext& context, const std::function<int(cost::FarmEvaluator* farm)>& coordinate);

}  // namespace msc::gym
