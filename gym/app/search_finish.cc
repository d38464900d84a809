#include <algorithm>
#include <cmath>

#include "compiler/base/error.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "envs/quantize/offer.h"
#include "gym/app/search_run.h"
#include "gym/report/precision.h"

namespace msc::gym {
namespace {

/// "int8", "w4a8".
bool IsInt8(const std::string& choice) {
  for (std::int64_t bits = 8; bits >= 2; --bits) {
    if (choice == envs::Int8Word(bits)) return true;
  }
  return false;
}

/// What a decision is probed with: int8, its weights with as many bits as may be, or the density
/// nearest to a half.
std::optional<std::int32_t> ProbeOf(const Decision& decision) {
  std::optional<std::int32_t> probe;
  double least = 0.5;  // how far the uncompressed density, 1, is off
  for (std::size_t i = 0; i < decision.choices.size(); ++i) {
    const std::string& choice = decision.choices[i];
    if (IsInt8(choice)) return static_cast<std::int32_t>(i);
    const std::optional<double> density = DensityOf(choice);
    if (!density || std::abs(*density - 0.5) >= least) continue;
    least = std::abs(*density - 0.5);
    probe = static_cast<std::int32_t>(i);
  }
  return probe;
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

}  // namespace msc::gym
