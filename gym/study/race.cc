#include "gym/study/race.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/base/ranks.h"
#include "gym/core/pareto.h"

namespace msc::gym {
namespace {

std::vector<Assignment> OfPlaces(std::span<const Assignment> batch, const auto& racers) {
  std::vector<Assignment> chosen;
  chosen.reserve(racers.size());
  for (const auto& racer : racers) chosen.push_back(batch[racer.place]);
  return chosen;
}

bool AnyDiffer(std::span<const double> values) {
  return std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) != values.end();
}

}  // namespace

RacingProblem::RacingProblem(SearchProblem& inner, Objective objective, RaceOptions options,
                             Listener listener)
    : inner_(inner),
      objective_(std::move(objective)),
      options_(options),
      listener_(std::move(listener)),
      stages_(inner.fidelities()) {
  Check(options_.keep_one_in >= 2 && options_.pairs >= 3 && options_.audit_one_in >= 1,
        "a race drops some, and watches some");
  if (stages_.empty()) {
    throw UserError("this problem cannot be evaluated roughly; leave out 'race'");
  }
}

bool RacingProblem::racing() const noexcept {
  return std::ranges::any_of(stages_, &Stage::live);
}

bool RacingProblem::CountRacer() {
  const std::size_t number = raced_++;
  // The first racers, and later one in every audit_one_in, go on whatever their rank: their full
  // results test the rough ones.
  return number < options_.pairs || number % options_.audit_one_in == 0;
}

RacingProblem::Rank RacingProblem::RankOf(const std::map<std::string, double>& metrics) const {
  const Evaluation evaluation{.metrics = metrics};
  return {.objectives = ObjectiveValues(objective_, evaluation),
          .violation = Violation(objective_, evaluation)};
}

std::map<std::string, double> RacingProblem::ObjectiveMetrics(
    const std::map<std::string, double>& metrics) const {
  std::map<std::string, double> named;
  for (const std::string& metric : objective_.minimize) named[metric] = metrics.at(metric);
  for (const Constraint& limit : objective_.subject_to) {
    named[limit.metric] = metrics.at(limit.metric);
  }
  return named;
}

bool RacingProblem::AmongBest(const Stage& stage, const Rank& rank) const {
  const auto beats = [&](const Rank& other) {
    if (other.violation != rank.violation) return other.violation < rank.violation;
    return Dominates(other.objectives, rank.objectives);
  };
  // Only candidates that beat this one count, so all that none beats go on.
  const auto better = std::ranges::count_if(stage.seen, beats);
  // Rounded up, so that the first candidate of a stage goes on.
  const std::size_t kept = (stage.seen.size() + options_.keep_one_in - 1) / options_.keep_one_in;
  return std::cmp_less(better, kept);
}

void RacingProblem::DisableStage(std::size_t number, const std::string& why) {
  stages_[number].live = false;
  if (!listener_) return;
  listener_(racing()
                ? "candidates skip stage " + std::to_string(number + 1) + " of the race: " + why
                : "the race is over: " + why);
}

std::string RacingProblem::DoubtOf(const std::string& metric, std::span<const double> rough,
                                   std::span<const double> full) const {
  if (const std::optional<double> correlation = RankCorrelation(rough, full)) {
    if (*correlation >= options_.least_correlation) return "";
    return Formatted("the rank correlation of rough and full '%.60s' is %.2f over %zu results",
                     metric.c_str(), *correlation, rough.size());
  }
  // At least one side is constant. If both are, the metric ranks nothing and does no harm.
  const bool rough_differs = AnyDiffer(rough);
  if (!rough_differs && !AnyDiffer(full)) return "";
  return Formatted("'%.60s' is constant in %s results but differs in %s ones, over %zu results",
                   metric.c_str(), rough_differs ? "full" : "rough",
                   rough_differs ? "rough" : "full", rough.size());
}

void RacingProblem::DisableUninformativeStages() {
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    if (!stages_[number].live) continue;
    for (const auto& [metric, values] : stages_[number].pairs) {
      const auto& [rough, full] = values;
      if (rough.size() < options_.pairs) break;
      const std::string doubt = DoubtOf(metric, rough, full);
      if (doubt.empty()) continue;
      DisableStage(number, doubt);
      break;
    }
  }
}

void RacingProblem::AddPairs(const Evaluation& evaluation) {
  for (std::size_t number = 0; number < evaluation.rough_metrics.size(); ++number) {
    for (const auto& [metric, value] : evaluation.rough_metrics[number]) {
      auto& [rough, full] = stages_[number].pairs[metric];
      rough.push_back(value);
      full.push_back(evaluation.metrics.at(metric));
    }
  }
}

void RacingProblem::CheckRecalled(const Evaluation& evaluation) const {
  const auto has_all = [&](const std::map<std::string, double>& metrics) {
    const auto has = [&](const std::string& metric) { return metrics.contains(metric); };
    return std::ranges::all_of(objective_.minimize, has) &&
           std::ranges::all_of(objective_.subject_to, has, &Constraint::metric);
  };
  const auto fits = [&](const std::map<std::string, double>& metrics) {
    return metrics.empty() ||
           (has_all(metrics) && std::ranges::all_of(metrics, [&](const auto& metric) {
              return evaluation.failure || evaluation.metrics.contains(metric.first);
            }));
  };
  if (!evaluation.rough_metrics.empty() && evaluation.rough_metrics.size() != stages_.size()) {
    throw UserError("a trial that is known raced on " +
                    std::to_string(evaluation.rough_metrics.size()) + " rungs, and there are " +
                    std::to_string(stages_.size()));
  }
  if (!std::ranges::all_of(evaluation.rough_metrics, fits)) {
    throw UserError("the rough metrics of a trial that is known are not what this search seeks");
  }
}

void RacingProblem::DoRecall(const Assignment& assignment, const Evaluation& evaluation) {
  inner_.Recall(assignment, evaluation);
  CheckRecalled(evaluation);
  if (!racing()) return;
  // A stage that a candidate skipped although it advanced further had been disabled by then.
  std::size_t came = evaluation.failure || evaluation.dropped ? 0 : stages_.size();
  for (std::size_t number = 0; number < evaluation.rough_metrics.size(); ++number) {
    if (evaluation.rough_metrics[number].empty()) continue;
    stages_[number].seen.push_back(RankOf(evaluation.rough_metrics[number]));
    came = std::max(came, number);
  }
  for (std::size_t number = 0; number < came; ++number) {
    if (number >= evaluation.rough_metrics.size() || evaluation.rough_metrics[number].empty()) {
      stages_[number].live = false;
    }
  }
  if (evaluation.rough_metrics.empty()) return;
  const bool kept = CountRacer();
  if (kept && evaluation.Complete()) AddPairs(evaluation);
}

std::vector<RacingProblem::Racer> RacingProblem::RunStage(std::size_t number,
                                                          std::vector<Racer> racers,
                                                          std::span<const Assignment> batch,
                                                          const Done& done,
                                                          const std::function<bool()>& stop) {
  std::vector<std::optional<Evaluation>> results(racers.size());
  inner_.EvaluateRoughly(
      number, OfPlaces(batch, racers),
      [&](std::size_t i, const Evaluation& result) { results[i] = result; }, stop);
  if (stop()) return {};
  Stage& stage = stages_[number];
  // Every candidate is ranked among all results of the batch, so evaluation order has no influence.
  const std::size_t before = stage.seen.size();
  for (std::size_t i = 0; i < racers.size(); ++i) {
    if (results[i]->failure) continue;
    Racer& racer = racers[i];
    if (racer.rough_metrics.empty()) {
      racer.kept = CountRacer();
      racer.rough_metrics.resize(stages_.size());
    }
    racer.rough_metrics[number] = ObjectiveMetrics(results[i]->metrics);
    stage.seen.push_back(RankOf(racer.rough_metrics[number]));
  }
  std::vector<Racer> further;
  std::size_t at = before;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    Evaluation& result = *results[i];
    result.rough_metrics = racers[i].rough_metrics;
    if (result.failure) {
      done(racers[i].place, result);
      continue;
    }
    const Rank& rank = stage.seen[at++];
    if (racers[i].kept || AmongBest(stage, rank)) {
      further.push_back(std::move(racers[i]));
    } else {
      result.dropped = true;
      done(racers[i].place, result);
    }
  }
  return further;
}

void RacingProblem::DoEvaluate(std::span<const Assignment> batch, const Done& done,
                               const std::function<bool()>& stop) {
  DisableUninformativeStages();  // recalled results may disable a stage
  std::vector<Racer> racers(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) racers[i].place = i;
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    if (!stages_[number].live) continue;
    racers = RunStage(number, std::move(racers), batch, done, stop);
    if (stop()) return;
  }
  std::vector<std::optional<Evaluation>> full(racers.size());
  inner_.Evaluate(
      OfPlaces(batch, racers),
      [&](std::size_t i, const Evaluation& result) {
        full[i] = result;
        full[i]->rough_metrics = racers[i].rough_metrics;
        done(racers[i].place, *full[i]);
      },
      stop);
  if (stop()) return;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    if (racers[i].kept && full[i]->Complete()) AddPairs(*full[i]);
  }
  DisableUninformativeStages();
}

}  // namespace msc::gym
