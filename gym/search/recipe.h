#pragma once

#include <string>

#include "gym/search/run_paths.h"
#include "gym/search/search.h"

namespace msc::gym {

// Searches of training recipes (Distill-v0). Candidates are trained and judged in this process, one
// after another, and the result is the settings of a training instead of a strategy.

/// Runs the search as RunSearch does, for a config of Distill-v0. Writes best/recipe.json for
/// `mscgym distill --recipe` and pareto.json besides journal and log. UserError if an option asks
/// for something that such a search lacks: workers, a farm, a cache, a race,
/// an earlier run or the user's own metrics.
[[nodiscard]] SearchOutcome SearchRecipe(const SearchConfig& config, const SearchOptions& options,
                                         const SearchHost& host);

/// Returns the command that trains by the result, without the options for the form of the samples.
[[nodiscard]] std::string TrainCommand(const SearchConfig& config, const RunPaths& paths);

}  // namespace msc::gym
