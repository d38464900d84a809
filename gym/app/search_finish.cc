#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/base/error.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/app/search_run.h"
#include "gym/report/precision.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kProfileRuns = 50;
constexpr int kFinalistRounds = 3;

/// Trials worth a second look, best first: by violation, then by objectives in order; each
/// assignment once.
std::vector<std::size_t> Ranked(const Objective& objective, const std::vector<Trial>& trials) {
  std::vector<std::size_t> ranked;
  std::set<Assignment> seen;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].evaluation.Complete() && seen.insert(trials[i].assignment).second) {
      ranked.push_back(i);
    }
  }
  const auto key = [&](std::size_t i) {
    return std::pair(Violation(objective, trials[i].evaluation),
                     ObjectiveValues(objective, trials[i].evaluation));
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return ranked;
}

/// What a decision is probed with: int8, or the density nearest to a half.
std::optional<std::int32_t> ProbeOf(const Decision& decision) {
  std::optional<std::int32_t> probe;
  double least = 0.5;  // how far the uncompressed density, 1, is off
  for (std::size_t i = 0; i < decision.choices.size(); ++i) {
    const std::string& choice = decision.choices[i];
    if (choice == Name(Precision::kInt8)) return static_cast<std::int32_t>(i);
    const std::optional<double> density = DensityOf(choice);
    if (!density || std::abs(*density - 0.5) >= least) continue;
    least = std::abs(*density - 0.5);
    probe = static_cast<std::int32_t>(i);
  }
  return probe;
}

std::optional<std::uint64_t> BestFinalist(const Objective& objective,
                                          const std::vector<Finalist>& finalists) {
  std::optional<std::uint64_t> best;
  std::vector<double> least;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const Evaluation evaluation = EvaluationOf(finalists[i]);
    if (evaluation.failure || Violation(objective, evaluation) > 0) continue;
    std::vector<double> values = ObjectiveValues(objective, evaluation);
    if (best && least <= values) continue;
    best = i;
    least = std::move(values);
  }
  return best;
}

}  // namespace

Evaluation EvaluationOf(const Finalist& finalist) {
  return envs::ToEvaluation(cost::OutcomeFromJson(finalist.result),
                            StrategyHash(finalist.strategy));
}

std::vector<LayerSensitivity> MeasureSensitivity(const SearchProblem& problem,
                                                 cost::Evaluator& evaluator,
                                                 const std::function<bool()>& stop) {
  const std::vector<Decision>& decisions = problem.decisions();
  std::vector<cost::Candidate> candidates;
  std::vector<LayerSensitivity> rows;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto choice = ProbeOf(decisions[i]);
    if (!choice) continue;
    Assignment assignment(decisions.size(), 0);  // nothing is compressed
    assignment[i] = *choice;
    candidates.push_back({.strategy = StrategyFromJson(problem.Describe(assignment), "a probe"),
                          .measure = cost::Measure::kQuality});
    LayerSensitivity& row = rows.emplace_back();
    row.layer = decisions[i].name;
    row.choice = decisions[i].choices[static_cast<std::size_t>(*choice)];
  }
  std::vector<bool> done(rows.size(), false);
  evaluator.Evaluate(
      candidates,
      [&](std::size_t index, const Result<cost::Outcome>& result) {
        LayerSensitivity& row = rows.at(index);
        done[index] = true;
        if (!result.ok()) {
          row.failure = result.failure().detail;
          return;
        }
        const cost::Quality& quality = result.value().quality;
        row.distill_loss = quality.kl;
        row.mse = quality.mse;
        if (quality.accuracy && quality.reference_accuracy) {
          row.accuracy_drop = 100 * (*quality.reference_accuracy - *quality.accuracy);
        }
      },
      stop);
  std::vector<LayerSensitivity> finished;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (done[i]) finished.push_back(std::move(rows[i]));
  }
  return finished;
}

void MeasureFinalists(const SearchConfig& config, SearchProblem& problem,
                      cost::LocalEvaluator& evaluator, const std::function<bool()>& stop,
                      SearchResult& result) {
  const Objective objective = ToObjective(config.objective);
  const std::vector<std::size_t> ranked = Ranked(objective, result.study.trials);
  Findings& findings = result.findings;
  std::size_t next = 0;
  for (int round = 0; round < kFinalistRounds && next < ranked.size() && !findings.best; ++round) {
    std::vector<Finalist> group;
    std::vector<Strategy> strategies;
    for (std::size_t taken = 0; taken < config.finalists && next < ranked.size(); ++taken) {
      const Trial& trial = result.study.trials[ranked[next++]];
      const Strategy strategy = StrategyFromJson(problem.Describe(trial.assignment), "a trial");
      // Trials keep no weights: they are fitted once more, to the same bits.
      auto fitted = evaluator.Fit(strategy, stop);
      if (!fitted) return;  // stopped
      if (!fitted->ok()) {
        findings.finalists.push_back(
            {.trial = trial.number,
             .strategy = strategy,
             .result = cost::ToJson(Result<cost::Outcome>(fitted->failure()))});
        continue;
      }
      strategies.push_back(fitted->value());
      group.push_back({.trial = trial.number, .strategy = strategies.back(), .result = {}});
    }
    const std::vector<Result<cost::Outcome>> outcomes =
        evaluator.MeasureFinalists(strategies, stop);
    if (outcomes.size() != group.size()) return;  // stopped
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i].result = cost::ToJson(outcomes[i]);
      findings.finalists.push_back(std::move(group[i]));
    }
    findings.best = BestFinalist(objective, findings.finalists);
  }
  if (!findings.best) return;
  const std::vector<Strategy> best = {findings.finalists[*findings.best].strategy};
  Result<std::vector<cost::Profile>> profiles = evaluator.ProfileSteps(best, kProfileRuns, stop);
  if (profiles.ok()) findings.profiles = std::move(profiles).value();
}

}  // namespace msc::gym
