#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "cost/measure/latency.h"
#include "cost/model/evaluator.h"
#include "gym/core/problem.h"
#include "gym/search/config.h"
#include "gym/study/time_budget.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Largest fractions of config.time_budget_s for the phases of a search. Time that a phase leaves
/// is available to later ones.
namespace time_parts {
inline constexpr double kRegions = 1.0 / 3;  ///< measuring region costs
inline constexpr double kPlannedEstimates = 1.0 / 6;
inline constexpr double kEstimates = 1.0 / 4;
inline constexpr double kSensitivities = 1.0 / 20;
inline constexpr double kFinalists = 1.0 / 4;
inline constexpr double kExplanation = 1.0 / 10;
inline constexpr double kAnswer = 1.0 / 10;
inline constexpr double kAfterTrials =
    1.0 / 2;  ///< all phases after the trials, of the time left when trials begin
}  // namespace time_parts

/// Returns when a phase before the trials must end if it starts now and may take `part` of the
/// time, in seconds of time used. Leaves enough time for the phases after the trials.
[[nodiscard]] double PartEnd(const TimeBudget& time, double part);

/// Returns how single decisions are tried: on few samples if there is a time limit, so that most of
/// them can be tried.
[[nodiscard]] cost::Measure ProbeMeasure(const TimeBudget& time);

/// Expected seconds of the phases after the trials.
struct TailTime {
  double judging = 0;  ///< one finalist, on the samples of finalists
  double timing = 0;   ///< one finalist, once
  double sensitivities = 0;
  double finalists = 0;
  double explanation = 0;
  double answer = 0;  ///< writing the results, including another compilation of the best
  [[nodiscard]] double All() const { return sensitivities + finalists + explanation + answer; }
};

/// Returns the times scaled down to a sum of at most `seconds`.
[[nodiscard]] TailTime ShrunkTo(const TailTime& tail, double seconds);

/// Time limits of the finalists. Points in time are in seconds used.
struct FinalTime {
  const TimeBudget& time;
  TailTime tail;  ///< expected times
  /// When finalists should be done, so that the later phases keep their time.
  double until = std::numeric_limits<double>::infinity();
  /// When a running measurement is abandoned.
  double end = std::numeric_limits<double>::infinity();
};
/// Returns the limits by the current state of the budget.
[[nodiscard]] FinalTime FinalTimeOf(const TimeBudget& time, const TailTime& tail);

/// Inputs of ExpectedTail.
struct TailFacts {
  double trial_s = 0;        ///< seconds per trial
  double timing_s = 0;       ///< seconds of timing a candidate once; 0 = unknown
  std::int64_t samples = 0;  ///< available for judging candidates
  /// Seconds that the uncompressed model takes for one of them; 0 = unknown.
  double sample_s = 0;
  bool fits_kept = false;   ///< what trials fitted need not be fitted again
  std::int64_t tried = 0;   ///< decisions already tried alone
  std::size_t workers = 1;  ///< measuring in parallel
};

/// Returns the longest time to measure the latency of `candidates` together, `times` times.
[[nodiscard]] double TimingSeconds(const cost::LatencyOptions& latency, std::size_t candidates,
                                   std::int64_t times);

/// Returns the seconds that the longest timing of these trials took, of the rounds that were
/// needed; 0 without any.
[[nodiscard]] double SecondsOfTiming(const cost::LatencyOptions& latency,
                                     std::span<const Trial> trials);

/// Returns the expected times from the duration of trials and the config, within the parts of
/// config.time_budget_s if that is set.
[[nodiscard]] TailTime ExpectedTail(const SearchConfig& config, const SearchProblem& problem,
                                    const TailFacts& facts);

/// Returns the mean seconds of the trials measured in this run, without the first ones if there are
/// enough others; 0 without any.
[[nodiscard]] double SecondsOfTrial(std::span<const Trial> trials);

/// Returns "12.3 s used of time_budget_s 60"; without the end if there is no limit.
[[nodiscard]] std::string UsedText(double used, double budget);

}  // namespace msc::gym
