#pragma once

#include <chrono>
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

namespace msc::gym {

struct LiveRunOptions {
  std::string log_level = "info";
  Resume resume = Resume::kSame;  ///< what to do with a journal that was written otherwise
};

/// A run directory while its trials are made: its journal, its log, its config.
class LiveRun {
 public:
  /// Makes the folder, or goes on with what is there. UserError and SystemError as Journal, RunLog.
  LiveRun(const SearchConfig& config, const RunPaths& paths, const LiveRunOptions& options);

  [[nodiscard]] RunLog& log() { return log_; }
  /// Puts into the journal what a worker was busy with. Not at the same time as anything else.
  void Note(const cost::Attempt& attempt);
  /// Makes the trials, with the progress on `line`, until they are done or a stop is requested; the
  /// journal gets the setup where it does not end in the same. `agent` was made with the seeds. As
  /// RunStudy.
  [[nodiscard]] StudyResult Try(SearchProblem& problem, Agent& agent, const SearchStart& start,
                                ProgressLine& line);
  /// Puts into the journal what was found after the trials.
  void Keep(const Findings& findings);
  /// What was kept before this went on; none in a new run.
  [[nodiscard]] std::optional<Findings> Kept() const;

 private:
  void KeepSetup(const SearchSetup& setup);

  const SearchConfig& config_;
  RunPaths paths_;
  Resume resume_;
  Journal journal_;
  RunLog log_;
  bool resumed_;
  bool waits_;                        ///< the journal has no study yet
  std::vector<std::string> waiting_;  ///< records of what workers did before
  std::chrono::steady_clock::time_point began_;
};

}  // namespace msc::gym
