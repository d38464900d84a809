#pragma once

#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"
#include "gym/study/time_budget.h"

namespace msc::gym {

/// The part of PrepareSearch for a search of partitions (Places): measures region costs and stores
/// them in the run directory. If `time` is limited, only whole graphs may exceed its part
/// (time_parts), and regions without a measured cost are excluded. Throws if a stop is requested.
void PrepareCover(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                  const TimeBudget& time, Prepared& prepared);

}  // namespace msc::gym
