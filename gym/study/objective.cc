#include "gym/study/objective.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

double MetricOf(const Evaluation& evaluation, const std::string& name) {
  const auto it = evaluation.metrics.find(name);
  if (it != evaluation.metrics.end()) return it->second;
  std::string known;
  for (const auto& [key, unused] : evaluation.metrics) known += (known.empty() ? "" : ", ") + key;
  throw UserError("no metric '" + name + "'; measured: " + (known.empty() ? "none" : known));
}

/// Returns the divisor of an excess. The floor keeps a limit of 0 from dividing by 0.
double ScaleOf(const Constraint& constraint) {
  constexpr double kLeastScale = 1e-9;
  return std::max(std::abs(constraint.limit), kLeastScale);
}

AdditiveCost Scaled(AdditiveCost cost, double limit, double scale) {
  cost.offset = (cost.offset - limit) / scale;
  for (auto& effects : cost.effects) {
    for (double& effect : effects) effect /= scale;
  }
  return cost;
}

/// Returns the sums of those metrics that `known` has: objectives, then constraints, the latter
/// shifted and scaled as agents see them.
std::vector<AdditiveCost> SumsOf(const Objective& objective,
                                 const std::map<std::string, AdditiveCost>& known) {
  std::vector<AdditiveCost> sums;
  for (const std::string& metric : objective.minimize) {
    if (const auto it = known.find(metric); it != known.end()) sums.push_back(it->second);
  }
  for (const Constraint& constraint : objective.subject_to) {
    const auto it = known.find(constraint.metric);
    if (it == known.end()) continue;
    sums.push_back(Scaled(it->second, constraint.limit, ScaleOf(constraint)));
  }
  return sums;
}

void CheckMetric(const std::string& who, const std::string& name,
                 const std::vector<std::string>& metrics) {
  if (std::find(metrics.begin(), metrics.end(), name) != metrics.end()) return;
  std::string known;
  for (const auto& metric : metrics) known += (known.empty() ? "" : ", ") + metric;
  throw UserError(who + " names '" + name + "'; metrics of this problem: " + known);
}

}  // namespace

void CheckObjective(const Objective& objective) {
  if (objective.minimize.empty()) throw UserError("the objective must name a metric to minimize");
  std::set<std::string_view> minimized;
  for (const auto& name : objective.minimize) {
    if (minimized.insert(name).second) continue;
    throw UserError("the objective minimizes '" + name + "' twice");
  }
  for (const auto& [metric, limit] : objective.subject_to) {
    if (std::isfinite(limit)) continue;
    throw UserError("the limit of '" + metric + "' must be a finite number, not " +
                    std::to_string(limit));
  }
}

void CheckObjective(const Objective& objective, const std::vector<std::string>& metrics) {
  CheckObjective(objective);
  for (const auto& name : objective.minimize) CheckMetric("the objective", name, metrics);
  for (const auto& constraint : objective.subject_to) {
    CheckMetric("the objective", constraint.metric, metrics);
  }
}

void CheckGoal(const std::vector<Constraint>& goal, const std::vector<std::string>& metrics) {
  for (const Constraint& limit : goal) CheckMetric("the goal to stop at", limit.metric, metrics);
}

std::vector<double> ConstraintValues(const Objective& objective, const Evaluation& evaluation) {
  std::vector<double> values;
  for (const Constraint& constraint : objective.subject_to) {
    values.push_back((MetricOf(evaluation, constraint.metric) - constraint.limit) /
                     ScaleOf(constraint));
  }
  return values;
}

double Violation(const Objective& objective, const Evaluation& evaluation) {
  double sum = 0;
  for (const double value : ConstraintValues(objective, evaluation)) sum += std::max(value, 0.0);
  return sum;
}

double RewardOf(const Objective& objective, const Evaluation& evaluation) {
  constexpr double kFailure = -10;
  constexpr double kLeast = -9;  // every measured candidate ranks above a failed one
  if (evaluation.failure) return kFailure;
  double reward = -Violation(objective, evaluation);
  for (const std::string& metric : objective.minimize) {
    // Percentages and bytes are divided, so that no metric dominates the sum by its unit.
    const bool percent = metric.ends_with("_drop") || metric == "disagreement";
    const double unit = percent ? 100 : metric.ends_with("_bytes") ? 1e6 : 1;
    reward -= MetricOf(evaluation, metric) / unit;
  }
  return std::max(reward, kLeast);
}

std::vector<double> ObjectiveValues(const Objective& objective, const Evaluation& evaluation) {
  std::vector<double> values;
  values.reserve(objective.minimize.size());
  for (const auto& metric : objective.minimize) values.push_back(MetricOf(evaluation, metric));
  return values;
}

AgentSetup AgentSetupFor(const SearchProblem& problem, const Objective& objective,
                         std::uint64_t seed, std::span<const Assignment> seeds) {
  AgentSetup setup;
  setup.decisions = problem.decisions();
  setup.objectives = objective.minimize.size();
  setup.constraints = objective.subject_to.size();
  setup.seed = seed;
  for (auto& [name, assignment] : problem.Anchors()) {
    setup.anchors.push_back(std::move(assignment));
  }
  setup.anchors.insert(setup.anchors.end(), seeds.begin(), seeds.end());
  setup.first_trial = setup.anchors.size();
  setup.mask = problem.MaskFunction();
  setup.prior = problem.Prior();
  setup.costs = SumsOf(objective, setup.prior.costs);
  const bool all = setup.costs.size() == setup.objectives + setup.constraints;
  if (!all) setup.costs.clear();
  std::map<std::string, AdditiveCost> estimates = setup.prior.estimates;
  if (SumsOf(objective, estimates).empty()) return setup;
  AdditiveCost nothing;
  for (const Decision& decision : setup.decisions) {
    nothing.effects.emplace_back(decision.choices.size(), 0.0);
  }
  // Agents take estimates of all metrics or of none, so unknown ones count as 0.
  for (const std::string& metric : objective.minimize) estimates.emplace(metric, nothing);
  for (const Constraint& limit : objective.subject_to) estimates.emplace(limit.metric, nothing);
  setup.estimates = SumsOf(objective, estimates);
  return setup;
}

}  // namespace msc::gym
