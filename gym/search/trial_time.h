#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compiler/base/result.h"
#include "gym/core/problem.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

/// Duration of one trial, from a trial that was run.
struct TrialTime {
  std::string baseline;                 ///< the anchor that was tried
  double seconds = 0;                   ///< duration of that trial
  double mean = 0;                      ///< expected mean over all trials
  std::optional<Failure> failure = {};  ///< of the trial
  /// Milliseconds per inference of the uncompressed model, if timed beside the trial.
  std::optional<double> reference_ms = {};
  /// Returns "one trial, the baseline 'int8': 1.2 s".
  [[nodiscard]] std::string Text() const;
};

/// Tries the baseline that needs the most preparation: training, or fitting to samples. Ignores
/// cached outcomes. For a task that is not measured, scales the duration to the mean number of
/// training steps. Returns nothing if `stop` returned true before the end. `paths` must be
/// prepared; SystemError as LocalEvaluator.
[[nodiscard]] std::optional<TrialTime> TimeTrial(const SearchTask& task, const SearchHost& host,
                                                 const RunPaths& paths, SearchProblem& problem,
                                                 const std::function<bool()>& stop);

/// Returns lower bounds of metrics that follow from the time of the uncompressed model, if the
/// trial has it (DescribeOptions::bounds); empty otherwise.
[[nodiscard]] std::map<std::string, double> BoundsBy(const std::optional<TrialTime>& trial,
                                                     const SearchProblem& problem);

}  // namespace msc::gym
