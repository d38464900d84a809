#pragma once

#include <string>

#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"
#include "gym/search/search_result.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Writes results.json, pareto.json, sensitivity.csv and best/, or nearest/ if there is no best.
/// Returns the findings with the fields that are known only after writing: models, pairs, and those
/// that the task adds.
[[nodiscard]] Findings WriteResults(const SearchTask& task, const SearchConfig& config,
                                    const RunPaths& paths, const Prepared& prepared,
                                    const SearchResult& result);

/// Returns the closing table, for a terminal.
[[nodiscard]] std::string SummaryText(const SearchConfig& config, const RunPaths& paths,
                                      const SearchResult& result);

}  // namespace msc::gym
