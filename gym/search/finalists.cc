#include "gym/search/finalists.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compiler/base/duration_text.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/search/compared.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/held_out.h"
#include "gym/search/losses.h"
#include "gym/search/phase_time.h"
#include "gym/search/sample_view.h"
#include "gym/search/search_result.h"
#include "gym/search/winner.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kProfileRuns = 50;
constexpr std::size_t kTimings = 3;
/// Limit on judged candidates per requested finalist.
constexpr std::size_t kJudgedPerFinalist = 8;
constexpr std::int64_t kMaxParts = 16;  // of the time of a measurement

/// Returns the objective without the constraints that need timing.
Objective WithoutTime(Objective objective) {
  std::erase_if(objective.subject_to, [](const Constraint& constraint) {
    return constraint.metric == envs::kLatency || constraint.metric == envs::kLatencyMs ||
           constraint.metric == envs::kEnergy;
  });
  return objective;
}

/// Returns the finalist with the best objectives among those with the smallest violation; nothing
/// if all failed.
std::optional<std::uint64_t> NearestFinalist(const Objective& objective,
                                             const std::vector<Finalist>& finalists) {
  std::vector<std::optional<Evaluation>> evaluations;
  evaluations.reserve(finalists.size());
  for (const Finalist& finalist : finalists) evaluations.emplace_back(EvaluationOf(finalist));
  return NearestToLimits(objective, evaluations);
}

using Say = std::function<void(const std::string&)>;
using Stop = std::function<bool()>;

/// What all steps read.
struct Inputs {
  const SearchConfig& config;
  const envs::StrategyProblem& problem;
  cost::LocalEvaluator& evaluator;
  const FinalTime& time;
  const Say& say;
  const Stop stop;  ///< also true when time is up
  const std::vector<Trial>& trials;
  const cost::JudgedSamples samples;
  const Objective objective = ToObjective(config.objective);
  const Objective timeless = WithoutTime(objective);
};

/// A candidate with its quality on the samples of finalists.
struct Judged {
  std::size_t index = 0;  ///< into the trials
  Finalist finalist = {};
  cost::Outcome outcome = {};
};

/// A candidate that misses a limit by `violation`, without its weights.
struct Miss {
  double violation = 0;
  std::size_t index = 0;  ///< into the trials
};

/// Which candidates were judged so far, and the time it took.
struct Judging {
  std::vector<std::size_t> ranked;  ///< indices of trials, best first
  std::size_t next = 0;             ///< into `ranked`
  /// First trial taken, by hash of the strategy. Several assignments may have the same one;
  /// finalists must differ.
  std::map<std::string, std::uint64_t> taken = {};
  std::vector<Miss> missed = {};
  bool found = false;  ///< some candidate satisfies the limits of quality
  std::size_t judged = 0;
  double seconds = 0;  ///< spent on these
};

/// Returns the samples that finalists are judged on.
cost::JudgedSamples PlanSamples(const SearchConfig& config, std::int64_t samples,
                                Findings& findings) {
  FinalPlan plan = PlanFinals(config, config.calibration.most(), CountsOf(config, samples));
  findings.judged_from = plan.from;
  findings.judged = samples - plan.from;
  findings.held_out_from = plan.held_out;
  findings.warnings = std::move(plan.warnings);
  return {.first = plan.from, .held_out = plan.held_out};
}

double SecondsLeft(const FinalTime& time) {
  return time.until - time.time.Used();
}

/// Returns the seconds to judge a candidate, from those judged so far, else from trials.
double SecondsToJudge(const Inputs& in, const Judging& judging) {
  return judging.judged > 0 ? judging.seconds / static_cast<double>(judging.judged)
                            : in.time.tail.judging;
}

/// Returns the seconds to time so many candidates and the targets to compare with, three times.
double SecondsToTime(const Inputs& in, std::size_t candidates) {
  return static_cast<double>(kTimings * (candidates + in.config.compare.size())) *
         in.time.tail.timing;
}

/// Returns whether time is too short to judge one more and then time so many once.
bool IsShortFor(std::size_t candidates, const Inputs& in, const Judging& judging) {
  return SecondsToJudge(in, judging) + SecondsToTime(in, candidates) / kTimings >
         SecondsLeft(in.time);
}

/// Reports progress. The eta is `seconds` plus the phases after the finalists.
void Tell(const Inputs& in, const std::string& text, double seconds) {
  const double after = in.time.tail.explanation + in.time.tail.answer;
  in.say("[finalists] " + text + " | eta " +
         FormatDuration(std::chrono::duration<double>(seconds + after)));
}

/// Fits a trial and judges it. Returns nothing if stopped.
std::optional<Judged> FitAndJudge(const Inputs& in, std::size_t index) {
  const Trial& trial = in.trials[index];
  Judged judged{.index = index};
  judged.finalist.trial = trial.number;
  judged.finalist.strategy = in.problem.StrategyOf(trial.assignment);
  // Trials keep no weights. Fitting is repeatable bit by bit.
  auto fitted = in.evaluator.Fit(judged.finalist.strategy, in.stop);
  if (!fitted) return std::nullopt;
  if (!fitted->ok()) {
    judged.finalist.result = fitted->failure();
    return judged;
  }
  judged.finalist.strategy = std::move(*fitted).value();
  const auto outcome = in.evaluator.Judge(judged.finalist.strategy, in.samples, in.stop);
  if (!outcome) return std::nullopt;
  if (outcome->ok()) judged.outcome = outcome->value();
  judged.finalist.result = *outcome;
  return judged;
}

/// Does the same and adds the time it took.
std::optional<Judged> Judge(const Inputs& in, std::size_t index, double& seconds) {
  const double began = in.time.time.Used();
  std::optional<Judged> judged = FitAndJudge(in, index);
  seconds += in.time.time.Used() - began;
  return judged;
}

/// Appends a judged candidate to `holding` if it satisfies the limits of quality, else to those
/// that failed or missed a limit.
void Sort(Judged judged, const Inputs& in, Judging& judging, std::vector<Judged>& holding,
          Findings& findings) {
  const Evaluation evaluation = EvaluationOf(judged.finalist);
  const double violation = evaluation.failure ? 0 : Violation(in.timeless, evaluation);
  if (evaluation.failure) {
    findings.finalists.push_back(std::move(judged.finalist));
  } else if (violation > 0) {
    judging.missed.push_back({violation, judged.index});
    findings.rejected.push_back(
        {.trial = judged.finalist.trial, .result = std::move(judged.finalist.result)});
  } else {
    judging.found = true;
    holding.push_back(std::move(judged));
  }
}

/// Judges the next candidates and appends those that satisfy the limits of quality. Returns false
/// if stopped.
[[nodiscard]] bool TakeHolding(const Inputs& in, Judging& judging, std::vector<Judged>& holding,
                               Findings& findings) {
  const std::size_t wanted = in.config.finalists;
  while (judging.next < judging.ranked.size() && holding.size() < wanted &&
         judging.judged < kJudgedPerFinalist * wanted) {
    const std::size_t index = judging.ranked[judging.next];
    const Trial& trial = in.trials[index];
    const double expected = Violation(in.timeless, trial.evaluation);
    // A trial that missed a limit on fewer samples is judged only if nothing better was found.
    if (expected > 0 && (judging.found || judging.judged >= kTimings * wanted)) break;
    if (!holding.empty() && IsShortFor(holding.size() + 1, in, judging)) {
      findings.shortened.push_back("finalists: " + std::to_string(holding.size()) + " of " +
                                   std::to_string(wanted) + " were measured again");
      break;
    }
    ++judging.next;
    const std::string hash = StrategyHash(in.problem.StrategyOf(trial.assignment));
    if (!judging.taken.emplace(hash, trial.number).second) continue;
    auto judged = Judge(in, index, judging.seconds);
    if (!judged) return false;
    ++judging.judged;
    Sort(*std::move(judged), in, judging, holding, findings);
    Tell(in,
         std::to_string(judging.judged) + " judged, " + std::to_string(holding.size()) + " of " +
             std::to_string(wanted) + " keep the limits",
         static_cast<double>(wanted - holding.size()) * SecondsToJudge(in, judging) +
             SecondsToTime(in, wanted));
  }
  return true;
}

/// Judges the candidates with the smallest violations, if none is feasible. Returns false if
/// stopped.
[[nodiscard]] bool TakeNearest(const Inputs& in, Judging& judging, std::vector<Judged>& nearest,
                               Findings& findings) {
  const std::size_t wanted = in.config.finalists;
  Tell(in, "none of " + std::to_string(judging.judged) + " keeps the limits; judging the nearest",
       static_cast<double>(wanted) * SecondsToJudge(in, judging) + SecondsToTime(in, wanted));
  std::vector<Miss>& missed = judging.missed;
  std::stable_sort(missed.begin(), missed.end(),
                   [](const Miss& a, const Miss& b) { return a.violation < b.violation; });
  for (std::size_t i = 0; i < missed.size() && i < wanted; ++i) {
    if (i > 0 && IsShortFor(i + 1, in, judging)) break;
    auto judged = Judge(in, missed[i].index, judging.seconds);
    if (!judged) return false;
    std::erase_if(findings.rejected, [&](const Rejected& rejected) {
      return rejected.trial == judged->finalist.trial;
    });
    nearest.push_back(*std::move(judged));
  }
  return true;
}

/// Times the strategies together three times, or once for a part of the time if time is short.
/// Empty if stopped.
std::vector<Result<cost::Outcome>> TimeAll(const Inputs& in, std::vector<Strategy> strategies,
                                           Findings& findings) {
  const double wanted = static_cast<double>(strategies.size()) * in.time.tail.timing;
  const double left = SecondsLeft(in.time);
  if (static_cast<double>(kTimings) * wanted <= left) {
    findings.timings = kTimings;
    findings.timing_part = 1;
    return in.evaluator.TimeTogether(std::move(strategies), in.stop);
  }
  constexpr double kLeast = 1e-3;
  findings.timings = 1;
  findings.timing_part = static_cast<std::int64_t>(
      std::clamp(std::ceil(wanted / std::max(left, kLeast)), 1.0, static_cast<double>(kMaxParts)));
  std::vector<Result<cost::Outcome>> timed =
      in.evaluator.TimeOnce(std::move(strategies), findings.timing_part, in.stop);
  if (!timed.empty()) findings.shortened.push_back("finalists were timed " + TimedText(findings));
  return timed;
}

/// Sets `best` if a finalist satisfies the limits.
void ChooseBest(const Objective& objective, Findings& findings) {
  const auto nearest = NearestFinalist(objective, findings.finalists);
  if (nearest && Violation(objective, EvaluationOf(findings.finalists[*nearest])) <= 0) {
    findings.best = nearest;
  }
}

/// Times a group together with the targets to compare with. Returns false if stopped.
[[nodiscard]] bool Time(const Inputs& in, std::vector<Judged>& group, Findings& findings) {
  std::vector<Strategy> strategies;
  strategies.reserve(group.size());
  for (const Judged& judged : group) strategies.push_back(judged.finalist.strategy);
  findings.compared.clear();
  ComparedPlan compared = PlanCompared(in.config);
  strategies.insert(strategies.end(), compared.strategies.begin(), compared.strategies.end());
  Tell(in, "timing " + std::to_string(strategies.size()) + " together",
       SecondsToTime(in, group.size()));
  const std::vector<Result<cost::Outcome>> timed = TimeAll(in, std::move(strategies), findings);
  if (timed.size() != group.size() + compared.timed.size()) return false;
  for (std::size_t i = 0; i < compared.timed.size(); ++i) {
    compared.rows[compared.timed[i]].result = timed[group.size() + i];
  }
  findings.compared = std::move(compared.rows);
  for (std::size_t i = 0; i < group.size(); ++i) {
    Judged& judged = group[i];
    Result<cost::Outcome> result = timed[i];
    if (result.ok()) {
      judged.outcome.latency = result.value().latency;
      result = judged.outcome;
    }
    judged.finalist.result = std::move(result);
    findings.finalists.push_back(std::move(judged.finalist));
  }
  ChooseBest(in.objective, findings);
  return true;
}

/// Judges and times candidates until there is a best one, else those nearest to the limits.
/// Returns false if stopped or out of time; `holding` then has those judged but not timed.
[[nodiscard]] bool Measure(const Inputs& in, Judging& judging, std::vector<Judged>& holding,
                           Findings& findings) {
  for (std::size_t timing = 0; timing < kTimings && !findings.best; ++timing) {
    if (timing > 0 && IsShortFor(1, in, judging)) break;
    holding.clear();
    if (!TakeHolding(in, judging, holding, findings)) return false;
    if (holding.empty()) break;
    if (!Time(in, holding, findings)) return false;
  }
  if (judging.found || judging.missed.empty()) return true;
  holding.clear();
  return TakeNearest(in, judging, holding, findings) && Time(in, holding, findings);
}

bool IsBestSlower(const Findings& findings) {
  if (!findings.best) return false;
  const Result<cost::Outcome>& outcome = findings.finalists[*findings.best].result;
  return outcome.ok() && IsSlower(outcome.value());
}

/// Chooses the uncompressed model if it satisfies the limits. Returns false if stopped.
[[nodiscard]] bool TakeUncompressed(const Inputs& in, Judging& judging, Findings& findings) {
  const auto index = FindUncompressedTrial(in.objective, in.trials);
  if (!index) return true;
  const Trial& trial = in.trials[*index];
  const std::uint64_t number =
      judging.taken.emplace(StrategyHash(in.problem.StrategyOf(trial.assignment)), trial.number)
          .first->second;
  const auto find = [&] {
    return std::find_if(findings.finalists.begin(), findings.finalists.end(),
                        [&](const Finalist& finalist) { return finalist.trial == number; });
  };
  if (find() == findings.finalists.end()) {
    if (IsShortFor(1, in, judging)) return true;
    auto judged = Judge(in, *index, judging.seconds);
    if (!judged) return false;
    if (EvaluationOf(judged->finalist).failure) return true;
    std::vector<Judged> alone;
    alone.push_back(*std::move(judged));
    if (!Time(in, alone, findings)) return false;
  }
  const auto plain = find();
  const Evaluation evaluation = EvaluationOf(*plain);
  if (!evaluation.failure && Violation(in.objective, evaluation) <= 0) {
    findings.best = static_cast<std::uint64_t>(plain - findings.finalists.begin());
  }
  return true;
}

/// Takes the best trial that was not rejected since, as it was measured.
void TakeTrial(const Inputs& in, const Judging& judging, const Stop& stop, Findings& findings) {
  findings.judged_from = findings.judged = findings.held_out_from = 0;
  for (const std::size_t index : judging.ranked) {
    const Trial& trial = in.trials[index];
    const bool rejected = std::any_of(judging.missed.begin(), judging.missed.end(),
                                      [&](const Miss& missed) { return missed.index == index; });
    auto result = envs::RecordedOutcome(trial.evaluation);
    if (rejected || !result) continue;
    auto fitted = in.evaluator.Fit(in.problem.StrategyOf(trial.assignment), stop);
    if (!fitted || !fitted->ok()) continue;
    findings.finalists.push_back({.trial = trial.number,
                                  .strategy = std::move(*fitted).value(),
                                  .result = *std::move(result)});
    return;
  }
}

/// Completes the findings when time is up: candidates in `holding` get the latency of their trials;
/// if none was judged, the best trial counts as it was measured, fitted until `stop`.
void TakeAsTried(const Inputs& in, const Judging& judging, std::vector<Judged> holding,
                 const Stop& stop, Findings& findings) {
  if (!findings.finalists.empty()) return;
  findings.timings = 0;
  for (Judged& judged : holding) {
    const auto tried = envs::RecordedOutcome(in.trials[judged.index].evaluation);
    if (tried && tried->ok()) judged.outcome.latency = tried->value().latency;
    judged.finalist.result = judged.outcome;
    findings.finalists.push_back(std::move(judged.finalist));
  }
  if (findings.finalists.empty()) TakeTrial(in, judging, stop, findings);
  findings.shortened.emplace_back(
      findings.judged > 0
          ? "finalists: they were not timed again"
          : "finalists: the best was not measured again; its figures are those of its trial");
  ChooseBest(in.objective, findings);
}

/// Times the best as it is exported for the targets to compare with, beside the uncompressed model
/// as finalists were, once and only if there is time.
void TimeExported(const Inputs& in, Findings& findings) {
  const Strategy& best = findings.finalists[*findings.best].strategy;
  if (!IsExported(best)) return;
  const std::size_t count = findings.compared.size();
  for (std::size_t i = 0; i < count; ++i) {
    Compared row = findings.compared[i];
    if (!row.result.ok() || ProductOf(row) == row.target) continue;
    if (SecondsLeft(in.time) < in.time.tail.timing) {
      findings.shortened.push_back("the exported best was not timed on " + RunnerOf(row));
      return;
    }
    row.exported = true;
    Tell(in, "timing " + WhatOf(row), in.time.tail.timing);
    const auto timed = in.evaluator.TimeExported(best, row.target, in.stop);
    if (!timed) return;
    row.result = *timed;
    findings.compared.push_back(std::move(row));
  }
}

void ProfileBest(const Inputs& in, Findings& findings) {
  if (SecondsLeft(in.time) <= 0) {
    findings.shortened.emplace_back("the steps of the best were not timed one by one");
    return;
  }
  const std::vector<Strategy> best = {findings.finalists[*findings.best].strategy};
  Result<std::vector<cost::Profile>> profiles =
      in.evaluator.ProfileSteps(best, kProfileRuns, in.stop);
  if (profiles.ok()) findings.profiles = std::move(profiles).value();
}

/// Shows the samples that the best changes most, if there is time to run it on them once more.
void ShowChanged(const Inputs& in, const Judging& judging, Findings& findings) {
  if (findings.judged == 0 || SecondsLeft(in.time) < SecondsToJudge(in, judging)) return;
  const Strategy& best = findings.finalists[*findings.best].strategy;
  const auto changed =
      in.evaluator.FindChanged(best, findings.judged_from, MainLossOf(in.config), in.stop);
  if (!changed.ok()) return;
  const cost::PreparedFolder& folder = in.evaluator.folder();
  for (const cost::ChangedSample& change : changed.value()) {
    const cost::RowRange row{change.sample, 1};
    const std::vector<Tensor> inputs = cost::LoadInputs(folder, row);
    ShownSample& shown = findings.changed.emplace_back();
    shown.change = change;
    shown.picture = PictureOf(inputs);
    shown.tokens = TokensOf(inputs);
    const std::vector<std::int32_t> labels = cost::LoadLabels(folder, row);
    if (!labels.empty()) shown.label = labels.front();
  }
}

}  // namespace

void MeasureFinalists(const SearchTask& task, const SearchConfig& config,
                      const envs::StrategyProblem& problem, cost::LocalEvaluator& evaluator,
                      const FinalTime& time, const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result) {
  Findings& findings = result.findings;
  const Inputs in{.config = config,
                  .problem = problem,
                  .evaluator = evaluator,
                  .time = time,
                  .say = say,
                  .stop = [&] { return stop() || time.time.Used() >= time.end; },
                  .trials = result.study.trials,
                  .samples = PlanSamples(config, evaluator.folder().samples, findings)};
  Judging judging{.ranked = RankTrials(in.objective, in.trials)};
  RankBaseline(in.objective, in.trials, config.finalists, judging.ranked);
  std::vector<Judged> holding;
  const bool measured = Measure(in, judging, holding, findings) &&
                        (!task.starts_uncompressed() || !IsBestSlower(findings) ||
                         TakeUncompressed(in, judging, findings));
  if (!measured) {
    if (stop()) return;
    TakeAsTried(in, judging, std::move(holding), stop, findings);
  }
  if (findings.best) {
    TimeExported(in, findings);
    ProfileBest(in, findings);
    ShowChanged(in, judging, findings);
  } else {
    findings.nearest = NearestFinalist(in.objective, findings.finalists);
  }
}

}  // namespace msc::gym
