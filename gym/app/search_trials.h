#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/farm/dispatcher.h"
#include "gym/app/log.h"
#include "gym/app/progress.h"
#include "gym/app/search_record.h"
#include "gym/app/search_run.h"
#include "gym/app/search_seeds.h"
#include "gym/study/journal.h"
#include "gym/study/study.h"
#include "gym/study/time_budget.h"

namespace msc::gym {

struct LiveRunOptions {
  std::string log_level = "info";
  Resume resume = Resume::kSame;  ///< what to do with a journal that was written otherwise
};

/// What trials are made with, besides what a config says.
struct TrialHooks {
  /// As StudyOptions::confirm.
  std::function<std::optional<bool>(const std::vector<Trial>& claims)> confirm;
  /// Hears of every trial, before the next, and of a study that begins. Says how many seconds what
  /// comes after the trials is expected to take.
  std::function<double(const Progress& progress)> tail;
};

/// A run directory while its trials are made: its journal, its log, its config.
class LiveRun {
 public:
  /// Makes the folder, or goes on with what is there, and counts in `time` what that used; `time`
  /// outlives this. UserError and SystemError as Journal, RunLog.
  LiveRun(const SearchConfig& config, const RunPaths& paths, TimeBudget& time,
          const LiveRunOptions& options);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun();

  [[nodiscard]] RunLog& log() { return log_; }
  /// Puts on disk how much time is used, where that was not done lately: for whoever goes on when
  /// this is killed. Not at the same time as anything else, as Note.
  void Tick();
  /// Puts into the journal what a worker was busy with. Not at the same time as anything else.
  void Note(const cost::Attempt& attempt);
  /// Makes the trials, with the progress on `line`, until they are done, their time is over or a
  /// stop is requested; the journal gets the setup where it does not end in the same. `agent` was
  /// made with the seeds. As RunStudy.
  [[nodiscard]] StudyResult Try(SearchProblem& problem, Agent& agent, const SearchStart& start,
                                const TrialHooks& hooks, ProgressLine& line);
  /// The trials that were made before this went on.
  [[nodiscard]] std::vector<Trial> Earlier() const { return TrialsOf(journal_.records()); }
  /// Puts into the journal what was found after the trials.
  void Keep(const Findings& findings);
  /// What was kept before this went on; none in a new run.
  [[nodiscard]] std::optional<Findings> Kept() const;

 private:
  void KeepSetup(const SearchSetup& setup);

  const SearchConfig& config_;
  RunPaths paths_;
  TimeBudget& time_;
  Resume resume_;
  Journal journal_;
  RunLog log_;
  bool resumed_;
  bool waits_ = true;                 ///< the study is not begun or gone on with yet
  std::vector<std::string> waiting_;  ///< records of what workers did before
  std::chrono::steady_clock::time_point began_;
  double ticked_ = 0;  ///< time used when it was last put on disk
};

}  // namespace msc::gym
