#pragma once

#include <string>
#include <vector>

#include "gym/report/report.h"
#include "gym/search/report/search_run.h"

namespace msc::gym {

/// Returns the axes of `input` for which the table of finalists has no column of its own.
[[nodiscard]] std::vector<ReportAxis> FinalAxes(const ReportInput& input);

/// Returns the rows of that table: the finalists, then the uncompressed model on other targets.
/// `axes` are FinalAxes.
[[nodiscard]] std::vector<ReportFinalist> MakeFinalists(const SearchRun& run,
                                                        const std::vector<ReportAxis>& axes);

/// Returns which trials were rejected, and why; empty if none was.
[[nodiscard]] std::string RejectedText(const SearchRun& run);

}  // namespace msc::gym
