#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/strategy/schedule.h"
#include "compiler/strategy/strategy.h"
#include "gym/app/search_run.h"

namespace msc::gym {

/// What can be chosen of kernels, for one sample at a time, as latency is measured; found once a
/// run and kept in `path`. Where the env decides schedules alone, those of the strategy that it
/// begins with. Else, of the config's compress.schedules dearest kernels of the uncompressed model,
/// those that the targets on offer have for them in f32 and in int8, the likeliest first; behind a
/// first one, which stands for none. UserError where `path` belongs to another model or config.
[[nodiscard]] std::shared_ptr<const std::vector<ScheduledKernel>> FindSchedules(
    const SearchConfig& config, const Prepared& prepared, const std::string& path);

/// How the kernels of a strategy can be written both for one sample and for as many as quality is
/// judged on at a time. `prepared` outlives it.
[[nodiscard]] std::function<std::vector<ScheduledKernel>(const Strategy&)> KernelFinder(
    const SearchConfig& config, const Prepared& prepared);

}  // namespace msc::gym
