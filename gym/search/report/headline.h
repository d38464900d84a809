#pragma once

#include "gym/report/report.h"
#include "gym/search/report/search_run.h"

namespace msc::gym {

/// Returns the results at a glance: those of the best, beside its limits, the bounds of the guard,
/// and the uncompressed model.
[[nodiscard]] ReportHeadline MakeHeadline(const SearchRun& run);

}  // namespace msc::gym
