#pragma once

#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/search_result.h"

namespace msc::cost {
class FarmEvaluator;
}  // namespace msc::cost

namespace msc::gym {

/// Where and how a search runs. Does not affect the order in which it tries candidates.
struct SearchOptions {
  std::string folder = "run";  ///< run directory
  bool resume = false;         ///< continue the search in the run directory
  /// Continue it even if its journal was written with other settings.
  bool force_resume = false;
  std::string log_level = "info";       ///< of logs/search.log in the run directory
  int workers = 1;                      ///< candidates measured in parallel; ignored with a farm
  std::string cache = {};               ///< folder of cached outcomes; empty = in the run directory
  cost::FarmEvaluator* farm = nullptr;  ///< an MPI farm to measure on; outlives the search
};

/// A finished or interrupted search. Everything is also in the run directory.
struct SearchOutcome {
  SearchResult result;
  std::vector<Decision> decisions;  ///< what the assignments of the trials decide
  std::string best;  ///< folder of the best configuration found so far; empty if there is none
  /// Whether a candidate keeps all limits; of finalists if these were measured.
  bool feasible = false;
  /// What makes the best configuration suspicious although it keeps the limits, one sentence each
  /// (SuspicionsOfBest).
  std::vector<std::string> suspicions = {};
  bool interrupted = false;  ///< a stop was requested; `resume` continues
  std::string summary;       ///< closing table, for a terminal
};

/// Runs a search to its end, or until the listener requests a stop: prepares the model, tries
/// candidates, measures the best again, and writes the best configuration to the run directory. The
/// caller renders report.html (report/report.h) if it wants one. UserError if something in the
/// config is wrong or does not fit the run directory; such an error leaves no new run directory
/// behind. SystemError if the machine fails.
[[nodiscard]] SearchOutcome RunSearch(const SearchConfig& config, const SearchOptions& options,
                                      const SearchHost& host);

/// The usual SearchTask::Run: child processes measure the candidates. `config` has the task's
/// defaults, and the run directory is free or to be resumed.
[[nodiscard]] SearchOutcome RunMeasured(const SearchTask& task, const SearchConfig& config,
                                        const SearchOptions& options, const SearchHost& host);

}  // namespace msc::gym
