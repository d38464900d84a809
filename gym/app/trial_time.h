#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compiler/base/result.h"
#include "gym/app/command.h"
#include "gym/app/search_config.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// How long one trial takes, found by making one.
struct TrialTime {
  std::string baseline;            ///< that was tried
  double seconds = 0;              ///< it took
  double mean = 0;                 ///< seconds of a trial as they are on the whole
  std::optional<Failure> failure;  ///< of the trial
  /// Milliseconds a call of the uncompressed model beside it, where both were timed.
  std::optional<double> reference_ms = {};
  /// "one trial, the baseline 'int8': 1.2 s".
  [[nodiscard]] std::string Text() const;
};

/// Tries the baseline that asks most of a trial before it is measured: training, or fitting to
/// samples. No outcome that is known already stands in for it. What recipes of all lengths take is
/// told from one of them by their steps. Nothing where `stop` said true before it ended.
/// `paths` were prepared; SystemError as LocalEvaluator.
[[nodiscard]] std::optional<TrialTime> TimeTrial(const AppContext& context,
                                                 const SearchConfig& config, const RunPaths& paths,
                                                 SearchProblem& problem,
                                                 const std::function<bool()>& stop);

/// Bounds of metrics that follow from the time of the uncompressed model, where the trial has it
/// (DescribeOptions::bounds). Nothing without a trial.
[[nodiscard]] std::map<std::string, double> BoundsBy(const std::optional<TrialTime>& trial,
                                                     const SearchProblem& problem);

}  // namespace msc::gym
