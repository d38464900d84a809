#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/strategy/schedule.h"
#include "compiler/strategy/strategy.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"

namespace msc::gym {

/// Returns the kernels whose schedules are decisions of a search, for one sample, as latency is
/// measured. A run determines them once and keeps them in `path`. If the env decides schedules
/// only, these are the kernels of its start strategy. Otherwise these are the config's
/// compress.schedules most expensive kernels of the uncompressed model, with the schedules that all
/// candidate targets list for them in f32 and in int8, the most promising first; the first choice
/// stands for the target's own. UserError if `path` belongs to another model or config.
[[nodiscard]] std::shared_ptr<const std::vector<ScheduledKernel>> FindSchedules(
    const SearchConfig& config, const Prepared& prepared, const std::string& path);

/// Returns a function that lists a strategy's kernels with the schedules that are valid both for
/// one sample and for the batch of quality measurements. `prepared` outlives it.
[[nodiscard]] std::function<std::vector<ScheduledKernel>(const Strategy&)> KernelFinder(
    const SearchConfig& config, const Prepared& prepared);

}  // namespace msc::gym
