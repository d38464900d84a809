#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/farm/dispatcher.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/host.h"
#include "gym/search/log.h"
#include "gym/search/record.h"
#include "gym/search/run_paths.h"
#include "gym/search/search.h"
#include "gym/search/seeds.h"
#include "gym/study/journal.h"
#include "gym/study/study.h"
#include "gym/study/time_budget.h"

namespace msc::gym {

struct LiveRunOptions {
  std::string log_level = "info";
  Resume resume = Resume::kSame;  ///< for a journal written with other settings
};

/// Returns the options that a search takes over.
[[nodiscard]] LiveRunOptions LiveOptionsOf(const SearchOptions& options);

/// Callbacks of the trials.
struct TrialHooks {
  /// As StudyOptions::confirm.
  std::function<std::optional<bool>(const std::vector<Trial>& claims)> confirm;
  /// Called at the start of the study and after every trial, before the next. Returns the expected
  /// seconds of the phases after the trials.
  std::function<double(const Progress& progress)> tail;
};

/// A run directory during its trials: journal, log and config.
class LiveRun {
 public:
  /// Creates the folder, or opens an existing one and adds the time that it used to `time`. `time`
  /// and `listener` outlive this object. UserError and SystemError as Journal and RunLog.
  LiveRun(const SearchConfig& config, const RunPaths& paths, TimeBudget& time,
          const LiveRunOptions& options, SearchListener& listener);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun();

  [[nodiscard]] RunLog& log() { return log_; }
  /// Writes the time used to disk unless that was done lately, so that a resume after a kill knows
  /// it. Not thread-safe, like Note.
  void Tick();
  /// Writes a task of a worker to the journal. Not thread-safe.
  void LogAttempt(const cost::Attempt& attempt);
  /// Runs the trials until they are done, time is up or the listener requests a stop. Writes the
  /// setup to the journal unless the last setup there is equal. `agent` must have been set up with
  /// the seeds. Exceptions as RunStudy.
  [[nodiscard]] StudyResult RunTrials(SearchProblem& problem, Agent& agent,
                                      const SearchStart& start, const TrialHooks& hooks);
  /// Returns the trials of earlier runs.
  [[nodiscard]] std::vector<Trial> EarlierTrials() const { return TrialsOf(journal_.records()); }
  /// Writes the results after the trials to the journal.
  void StoreFindings(const Findings& findings);
  /// Returns the findings of earlier runs; nothing in a new run.
  [[nodiscard]] std::optional<Findings> StoredFindings() const;

 private:
  void KeepSetup(const SearchSetup& setup);

  const SearchConfig& config_;
  RunPaths paths_;
  TimeBudget& time_;
  SearchListener& listener_;
  Resume resume_;
  Journal journal_;
  RunLog log_;
  bool resumed_;
  bool waits_ = true;                 ///< the study has not begun or resumed yet
  std::vector<std::string> waiting_;  ///< task records until then
  std::chrono::steady_clock::time_point began_;
  double ticked_ = 0;  ///< time used when last written to disk
};

}  // namespace msc::gym
