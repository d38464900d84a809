#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "gym/app/search_config.h"
#include "gym/core/problem.h"
#include "gym/study/time_budget.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Parts of config.time_budget_s that phases of a search get at most. What one leaves is for those
/// that follow.
namespace time_parts {
inline constexpr double kRegions = 1.0 / 3;  ///< measuring what they cost
inline constexpr double kPlannedEstimates = 1.0 / 6;
inline constexpr double kEstimates = 1.0 / 4;
inline constexpr double kSensitivities = 1.0 / 20;
inline constexpr double kFinalists = 1.0 / 4;
inline constexpr double kExplanation = 1.0 / 10;
inline constexpr double kAnswer = 1.0 / 10;
inline constexpr double kAfterTrials =
    1.0 / 2;  ///< all that follows them, of what is left at first
}  // namespace time_parts

/// When a phase before the trials ends that gets so much of the time and begins now, in seconds
/// used: early enough for what follows the trials.
[[nodiscard]] double PartEnd(const TimeBudget& time, double part);

/// Seconds that what follows the trials of a search is expected to take.
struct TailTime {
  double judging = 0;  ///< of one finalist, on its samples
  double timing = 0;   ///< of one finalist, once
  double sensitivities = 0;
  double finalists = 0;
  double explanation = 0;
  double answer = 0;  ///< writing what was found, for which the best is compiled once more
  [[nodiscard]] double All() const { return sensitivities + finalists + explanation + answer; }
};

/// The same, no more in all than `seconds`: each phase its part of that.
[[nodiscard]] TailTime ShrunkTo(const TailTime& tail, double seconds);

/// How long finalists may take: all of a search, with what is used of it.
struct FinalTime {
  const TimeBudget& time;
  TailTime tail;  ///< what is expected
  /// By when they are to be done, in seconds used; what comes after them has its time then.
  double until = std::numeric_limits<double>::infinity();
  /// When what is measured then is given up.
  double end = std::numeric_limits<double>::infinity();
};
/// With what is left of the budget now.
[[nodiscard]] FinalTime FinalTimeOf(const TimeBudget& time, const TailTime& tail);

/// What it is told by.
struct TailFacts {
  double trial_s = 0;        ///< of a trial
  std::int64_t samples = 0;  ///< that there are to judge candidates by
  std::int64_t tried = 0;    ///< decisions that were tried alone already
  std::size_t workers = 1;   ///< that measure at a time
};

/// The longest that timing `candidates` together takes, `times` over.
[[nodiscard]] double TimingSeconds(const cost::LatencyOptions& latency, std::size_t candidates,
                                   std::int64_t times);

/// By what trials took, and what the config allows. With config.time_budget_s no more than the
/// parts of that.
[[nodiscard]] TailTime ExpectedTail(const SearchConfig& config, const SearchProblem& problem,
                                    const TailFacts& facts);

/// The mean of those that were measured here, the first ones aside where there are more; 0 where
/// none was.
[[nodiscard]] double SecondsOfTrial(std::span<const Trial> trials);

/// "12.3 s used of time_budget_s 60"; without the end where there is no limit.
[[nodiscard]] std::string UsedText(double used, double budget);

}  // namespace msc::gym
