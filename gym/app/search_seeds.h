#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gym/app/search_record.h"
#include "gym/core/problem.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// What a search begins with of an earlier one's trials.
struct Seeds {
  /// Distinct, legal, none of them an anchor, the most promising first: source ("from:12" for trial
  /// 12) and assignment.
  std::vector<std::pair<std::string, Assignment>> trials;
  /// Results of all of them, and of anchors, where they hold here; else none.
  std::map<Assignment, Evaluation> known;
  /// What became of the earlier trials, for a person; empty where there is no earlier search.
  std::string note;
};

/// What a search is started with.
struct SearchStart {
  SearchSetup setup;
  Seeds seeds = {};
};

/// An earlier search as its journal has it.
struct EarlierSearch {
  StudyHeader header;
  SearchSetup setup;
  std::vector<Trial> trials;
};

/// Seeds for `problem`, which is searched as `now` says.
///
/// Decisions and choices are matched by name: a trial fits where it was measured in full and
/// decides exactly what is decided now, in a way that is legal now. Results hold where the
/// problem's hash, the CPU, versions and all of the config that decides what is measured are the
/// same. Where they do not, there are at most half as many seeds as trials: the Pareto set of those
/// that keep the limits first, then by violation and objectives.
[[nodiscard]] Seeds SeedsFrom(const EarlierSearch& earlier, const SearchSetup& now,
                              const SearchProblem& problem);

/// SeedsFrom the run directory that the config names, if it names one. They are kept in seeds.json
/// of the new run directory, so that a search that goes on begins with the same. UserError where
/// the earlier journal cannot be read, and for a search that goes on but began otherwise.
[[nodiscard]] Seeds FindSeeds(const RunPaths& paths, const SearchSetup& now,
                              const SearchProblem& problem);

}  // namespace msc::gym
