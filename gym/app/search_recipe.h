#pragma once

#include <string>

#include "gym/app/search_trials.h"

namespace msc::gym {

// Searches of training recipes (see Trains). Candidates are trained and judged in this process, one
// after another, and the result is the settings of a training instead of a strategy.

/// Runs the search and returns the exit code. Writes best/recipe.json for `mscgym distill
/// --recipe`, pareto.json and report.html besides journal and log. UserError and SystemError as
/// SearchSession and LiveRun; an invalid config leaves no run directory behind.
[[nodiscard]] int SearchRecipe(const SearchConfig& asked, const RunPaths& paths,
                               const LiveRunOptions& options);

/// Returns the command that trains by the result, without the options for the form of the samples.
[[nodiscard]] std::string TrainCommand(const SearchConfig& config, const RunPaths& paths);

}  // namespace msc::gym
