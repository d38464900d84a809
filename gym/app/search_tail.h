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

/// What follows the trials of a search that measures compressed models: sensitivities, finalists,
/// the explanation of the winner, each within its part of the time; and what of that is done
/// between trials, where one reaches the goal.
class SearchTail {
 public:
  struct Setup {
    const AppContext& context;
    const SearchConfig& config;
    const RunPaths& paths;
    TimeBudget& time;
    LiveRun& run;
    SearchProblem& problem;  ///< not racing
    const Prepared& prepared;
    std::int64_t samples = 0;  ///< there are
    ProgressLine& line;
  };
  /// `measuring` is used until sensitivities are measured.
  SearchTail(const Setup& setup, Measuring& measuring);

  /// For LiveRun::Try; not beyond this.
  [[nodiscard]] TrialHooks Hooks();
  /// Neither does anything where a stop is requested.
  void MeasureSensitivities(SearchResult& result);
  void MeasureBest(SearchResult& result);

 private:
  [[nodiscard]] std::optional<bool> Confirm(const std::vector<Trial>& claims);
  [[nodiscard]] bool ReachesGoal(const Findings& findings) const;
  /// The findings by which a trial reached the goal, now or before the search was resumed.
  [[nodiscard]] std::optional<Findings> Confirmed() const;
  [[nodiscard]] TailTime Expected(double trial_s) const;
  [[nodiscard]] bool Stop();
  void Say(const std::string& text) { setup_.line.Show(text); }

  Setup setup_;
  Measuring& measuring_;
  std::vector<Trial> heard_;    ///< of those made now, the times alone
  std::optional<double> most_;  ///< seconds that all of this may take, as trials began
  TailTime expected_;
  std::optional<Findings> confirmed_;
};

}  // namespace msc::gym
