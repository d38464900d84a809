#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cost/measure/child_protocol.h"
#include "gym/report/report.h"
#include "gym/search/report/search_run.h"

namespace msc::gym {

/// Returns the layers in network order, with what the best does to them.
[[nodiscard]] std::vector<ReportLayer> MakeLayers(const SearchRun& run);

/// Returns the steps of the profile at `index`; empty if there is none.
[[nodiscard]] std::vector<ReportStep> MakeSteps(std::span<const cost::Profile> profiles,
                                                std::size_t index);

}  // namespace msc::gym
