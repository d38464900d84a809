#include <algorithm>
#include <set>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "envs/quantize/quantize_env.h"
#include "gym/app/search_run.h"

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
    if (!trials[i].evaluation.failure && seen.insert(trials[i].assignment).second) {
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

std::vector<LayerSensitivity> MeasureSensitivity(const envs::EnvContext& context,
                                                 const std::function<bool()>& stop) {
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(*context.graph);
  const std::string hash = GraphHash(*context.graph);
  std::vector<cost::Candidate> candidates;
  std::vector<LayerSensitivity> rows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& allowed = layers[i].allowed;
    if (std::find(allowed.begin(), allowed.end(), Precision::kInt8) == allowed.end()) continue;
    std::vector<Precision> choices(layers.size(), Precision::kF32);
    choices[i] = Precision::kInt8;
    candidates.push_back({.strategy = envs::MakeQuantizeStrategy(context, layers, choices, hash),
                          .measure = cost::Measure::kQuality});
    rows.emplace_back().layer = layers[i].name;
  }
  std::vector<bool> done(rows.size(), false);
  context.evaluator->Evaluate(
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
      strategies.push_back(StrategyFromJson(problem.Describe(trial.assignment), "a trial"));
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
