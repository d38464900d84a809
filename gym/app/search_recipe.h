#pragma once

#include <string>

#include "gym/app/search_trials.h"

namespace msc::gym {

// Searches where Trains: candidates are trained and judged in this process, one after another, and
// what is found is no strategy but the settings of a training.

/// Runs the search; returns the exit code. Leaves best/recipe.json for `mscgym distill --recipe`,
/// pareto.json and report.html beside journal and log. UserError and SystemError as SearchSession
/// and LiveRun: a mistake leaves no run directory behind.
[[nodiscard]] int SearchRecipe(const SearchConfig& asked, const RunPaths& paths,
                               const LiveRunOptions& options);

/// How to train by what was found; the form of the samples has options of its own.
[[nodiscard]] std::string TrainCommand(const SearchConfig& config, const RunPaths& paths);

}  // namespace msc::gym
