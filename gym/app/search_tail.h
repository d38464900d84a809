#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gym/app/command.h"
#include "gym/app/progress.h"
#include "gym/app/search_config.h"
#include "gym/app/search_measuring.h"
#include "gym/app/search_run.h"
#include "gym/app/search_time.h"
#include "gym/app/search_trials.h"

namespace msc::gym {

/// The phases after the trials of a search of compressed models: sensitivities, finalists, and the
/// explanation of the winner, each within its part of the time. It also confirms trials that reach
/// the goal, between rounds.
class SearchTail {
 public:
  struct Setup {
    const AppContext& context;
    const SearchConfig& config;
    const RunPaths& paths;
    TimeBudget& time;
    LiveRun& run;
    SearchProblem& problem;  ///< without racing
    const Prepared& prepared;
    std::int64_t samples = 0;  ///< available for judging
    ProgressLine& line;
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
  [[nodiscard]] TailTime Expected(double trial_s) const;
  [[nodiscard]] bool Stop();
  void Say(const std::string& text) { setup_.line.Show(text); }

  Setup setup_;
  Measuring& measuring_;
  std::vector<Trial> heard_;    ///< trials of this run, only their times
  std::optional<double> most_;  ///< time limit of all phases, set when trials begin
  TailTime expected_;
  std::optional<Findings> confirmed_;
};

}  // namespace msc::gym
