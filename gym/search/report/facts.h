#pragma once

#include <vector>

#include "gym/report/report.h"
#include "gym/search/report/search_run.h"

namespace msc::gym {

/// Returns what the results depend on besides the config: the machine, its libraries, the samples,
/// and the time that was used.
[[nodiscard]] std::vector<ReportFact> MakeFacts(const SearchRun& run);

}  // namespace msc::gym
