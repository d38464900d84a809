#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envs/common/strategy_problem.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/host.h"
#include "gym/search/live_run.h"
#include "gym/search/measuring.h"
#include "gym/search/phase_time.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"
#include "gym/search/search_result.h"

namespace msc::gym {

/// The phases after the trials of a search of compressed models: sensitivities, finalists, and the
/// explanation of the winner, each within its part of the time. It also confirms trials that reach
/// the goal, between rounds.
class SearchTail {
 public:
  struct Setup {
    const SearchTask& task;
    const SearchHost& host;
    const SearchConfig& config;
    const RunPaths& paths;
    TimeBudget& time;
    LiveRun& run;
    envs::StrategyProblem& problem;  ///< without racing
    const Prepared& prepared;
    std::int64_t samples = 0;  ///< available for judging
    bool farm = false;         ///< trials are measured, and fitted, by a farm
  };
  /// `measuring` is used until sensitivities are measured.
  SearchTail(const Setup& setup, Measuring& measuring);

  /// Returns hooks for LiveRun::Try; they must not outlive this object.
  [[nodiscard]] TrialHooks Hooks();
  /// Run a phase; do nothing if a stop is requested.
  void MeasureSensitivities(SearchResult& result);
  void MeasureBest(SearchResult& result);

 private:
  [[nodiscard]] std::optional<bool> Confirm(const std::vector<Trial>& claims);
  [[nodiscard]] bool ReachesGoal(const Findings& findings) const;
  /// Returns the findings that confirmed the goal, in this run or before a resume.
  [[nodiscard]] std::optional<Findings> Confirmed() const;
  /// Writes the fitted strategy of the best trial so far to best/, so that a search that is killed
  /// leaves it there. Does nothing if it is there, or if the farm that fitted it has it.
  void KeepBest(const Trial& best);
  [[nodiscard]] TailTime Expected(double trial_s) const;
  [[nodiscard]] bool Stop();
  void Report(const std::string& text) { setup_.host.listener.ReportProgress(text); }

  Setup setup_;
  Measuring& measuring_;
  std::vector<Trial> heard_;    ///< trials of this run, only their times
  double timing_s_ = 0;         ///< of the longest timing of a trial; 0 = unknown
  std::optional<double> most_;  ///< time limit of all phases, set when trials begin
  TailTime expected_;
  std::optional<Findings> confirmed_;
  std::optional<std::uint64_t> kept_;  ///< number of the trial in best/
};

}  // namespace msc::gym
