#pragma once

#include "gym/report/report.h"
#include "gym/search/report/search_run.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

/// Adds how to use the best configuration, and the files of the run directory.
void TellShipping(const SearchRun& run, const RunPaths& paths, ReportInput& input);

}  // namespace msc::gym
