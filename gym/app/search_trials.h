#pragma once

#include <chrono>
#include <string>

#include "cost/farm/dispatcher.h"
#include "gym/app/log.h"
#include "gym/app/progress.h"
#include "gym/app/search_run.h"
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
  /// Makes the trials, with the progress on `line`, until they are done or a stop is requested.
  /// `machine` is a fingerprint of who measures. As RunStudy.
  [[nodiscard]] StudyResult Try(SearchProblem& problem, Agent& agent, const std::string& machine,
                                ProgressLine& line);

 private:
  const SearchConfig& config_;
  RunPaths paths_;
  Resume resume_;
  Journal journal_;
  RunLog log_;
  bool resumed_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace msc::gym
