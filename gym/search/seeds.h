#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/problem.h"
#include "gym/search/record.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Trials of an earlier search that a search starts from.
struct Seeds {
  /// Source ("from:12" for trial 12) and assignment: distinct, legal, without anchors, the most
  /// promising first.
  std::vector<std::pair<std::string, Assignment>> trials;
  /// Results of all of these and of anchors, if they are valid here; otherwise empty.
  std::map<Assignment, Evaluation> known;
  /// What was taken of the earlier trials, for a person; empty without an earlier search.
  std::string note;
};

/// Setup and seeds of a search.
struct SearchStart {
  SearchSetup setup;
  Seeds seeds = {};
};

/// An earlier search, from its journal.
struct EarlierSearch {
  StudyHeader header;
  SearchSetup setup;
  std::vector<Trial> trials;
};

/// Returns the seeds for `problem`, which is searched as `now` says.
///
/// Decisions and choices are matched by name. A trial fits if it was measured in full, has exactly
/// the current decisions, and is legal now. Its result is valid if the problem's hash, the CPU, the
/// versions and every part of the config that affects measurements are equal. If results are not
/// valid, there are at most half as many seeds as trials: first the Pareto set of the feasible
/// ones, then the others by violation and objectives.
[[nodiscard]] Seeds SeedsFrom(const EarlierSearch& earlier, const SearchSetup& now,
                              const SearchProblem& problem);

/// Returns SeedsFrom the run directory that the config names, if any. Stores them in seeds.json of
/// the new run directory, so that a resume uses the same. UserError if the earlier journal cannot
/// be read, or if a resumed search started from other seeds.
[[nodiscard]] Seeds FindSeeds(const RunPaths& paths, const SearchSetup& now,
                              const SearchProblem& problem);

}  // namespace msc::gym
