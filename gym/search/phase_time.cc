#include "gym/search/phase_time.h"

#include <algorithm>
#include <string>

#include "compiler/base/formatted.h"
#include "envs/common/evaluation.h"
#include "gym/search/held_out.h"
#include "gym/search/probes.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kFinalTimings = 3;
constexpr double kBuildSeconds = 3;          ///< of a candidate whose kernels a trial compiled
constexpr double kTimingBuildSeconds = 0.5;  ///< of it and of the uncompressed model

}  // namespace

double PartEnd(const TimeBudget& time, double part) {
  constexpr double kTail = time_parts::kSensitivities + time_parts::kFinalists +
                           time_parts::kExplanation + time_parts::kAnswer;
  // No part may use the time that is reserved for what follows the trials.
  return std::min(time.Used() + part * time.seconds(), (1 - kTail) * time.seconds());
}

cost::Measure ProbeMeasure(const TimeBudget& time) {
  return time.limited() ? cost::Measure::kProbe : cost::Measure::kQuality;
}

double TimingSeconds(const cost::LatencyOptions& latency, std::size_t candidates,
                     std::int64_t times) {
  const auto count = static_cast<double>(candidates);
  const double once = count * static_cast<double>(latency.max_ms) +
                      (count + 1) * static_cast<double>(latency.max_warmup_ms);
  return static_cast<double>(times) * once * 1e-3;
}

double SecondsOfTiming(const cost::LatencyOptions& latency, std::span<const Trial> trials) {
  constexpr double kWarmUpEpochs = 10;  // of each side, mostly fewer
  double most = 0;
  for (const Trial& trial : trials) {
    const auto outcome = envs::RecordedOutcome(trial.evaluation);
    if (!outcome || !outcome->ok() || !outcome->value().latency) continue;
    const cost::Latency& timed = *outcome->value().latency;
    double seconds = kTimingBuildSeconds;
    for (const double call_ns : {timed.median_ns, timed.reference_median_ns}) {
      const double epoch =
          std::max(call_ns * 1e-9, static_cast<double>(latency.min_epoch_us) * 1e-6);
      seconds += static_cast<double>(timed.rounds) * epoch +
                 std::min(kWarmUpEpochs * epoch, static_cast<double>(latency.max_warmup_ms) * 1e-3);
    }
    most = std::max(most, seconds);
  }
  return most;
}

TailTime ExpectedTail(const SearchConfig& config, const SearchProblem& problem,
                      const TailFacts& facts) {
  // A trial is fitted and judged, then timed; only the sum is known.
  const double most = std::min(TimingSeconds(config.latency, 1, 1), facts.trial_s * 3 / 4);
  const double timing = facts.timing_s > 0 ? std::min(facts.timing_s, most) : most;
  const double judging = facts.trial_s - timing;
  const double building = facts.fits_kept ? std::min(judging, kBuildSeconds) : judging;
  const FinalPlan plan =
      PlanFinals(config, config.calibration.most(), CountsOf(config, facts.samples));
  const auto seen =
      std::clamp<std::int64_t>(config.quality.samples, 1, std::max<std::int64_t>(facts.samples, 1));
  const double more =
      std::max(1.0, static_cast<double>(facts.samples - plan.from) / static_cast<double>(seen));
  const std::size_t probes = CountProbes(problem);
  const auto tried = static_cast<std::size_t>(facts.tried);  // their results are cached
  const auto finalists = static_cast<double>(config.finalists);
  const auto compared = static_cast<double>(config.compare.size());
  TailTime tail;
  // If all of a trial's time but the timing went into samples. Mostly a fit takes a part of it,
  // which more samples do not add to.
  tail.judging = judging * more;
  if (facts.sample_s > 0) {
    const std::int64_t added = std::max<std::int64_t>(facts.samples - plan.from - seen, 0);
    tail.judging = std::min(tail.judging, judging + facts.sample_s * static_cast<double>(added));
    if (facts.fits_kept) {
      const auto judged = static_cast<double>(std::max<std::int64_t>(facts.samples - plan.from, 0));
      tail.judging = std::min(tail.judging, kBuildSeconds + facts.sample_s * judged);
    }
  }
  tail.timing = timing;
  tail.sensitivities = judging * static_cast<double>(probes - std::min(probes, tried)) /
                       static_cast<double>(std::max<std::size_t>(facts.workers, 1));
  // The exported best is timed once on each target to compare with.
  tail.finalists = finalists * tail.judging + kFinalTimings * (finalists + compared) * timing +
                   compared * timing + building;
  tail.explanation =
      std::min(config.explain_s, static_cast<double>(problem.decisions().size()) * facts.trial_s);
  tail.answer = 1 + building;
  if (config.time_budget_s <= 0) return tail;
  const auto limit = [&](double& seconds, double part) {
    seconds = std::min(seconds, part * config.time_budget_s);
  };
  limit(tail.sensitivities, time_parts::kSensitivities);
  limit(tail.finalists, time_parts::kFinalists);
  limit(tail.explanation, time_parts::kExplanation);
  limit(tail.answer, time_parts::kAnswer);
  return tail;
}

TailTime ShrunkTo(const TailTime& tail, double seconds) {
  if (tail.All() <= seconds) return tail;
  const double part = seconds / tail.All();
  TailTime less = tail;
  for (double* const phase :
       {&less.sensitivities, &less.finalists, &less.explanation, &less.answer}) {
    *phase *= part;
  }
  return less;
}

FinalTime FinalTimeOf(const TimeBudget& time, const TailTime& tail) {
  FinalTime final_time{.time = time, .tail = tail};
  if (!time.limited()) return final_time;
  final_time.end = std::max(time.seconds() - tail.answer, 0.0);
  final_time.until = std::max(final_time.end - tail.explanation, 0.0);
  return final_time;
}

double SecondsOfTrial(std::span<const Trial> trials) {
  constexpr std::size_t kFirst = 2;  // they ran with cold caches of libraries and kernels
  double all = 0;
  double later = 0;
  std::size_t count = 0;
  for (const Trial& trial : trials) {
    if (trial.repeated) continue;
    all += trial.seconds;
    if (++count > kFirst) later += trial.seconds;
  }
  if (count == 0) return 0;
  // With up to four trials all count, as two or fewer would be left.
  return count > 2 * kFirst ? later / static_cast<double>(count - kFirst)
                            : all / static_cast<double>(count);
}

std::string UsedText(double used, double budget) {
  const std::string text = Formatted("%.1f s used", used);
  return budget > 0 ? text + Formatted(" of time_budget_s %.6g", budget) : text;
}

}  // namespace msc::gym
