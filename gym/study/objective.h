#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "gym/core/agent.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// The constraint metric <= limit.
struct Constraint {
  std::string metric;
  double limit = 0;
  bool operator==(const Constraint&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("metric", self.metric, "name of a metric of the problem");
    visit("limit", self.limit, "largest value allowed", Within{-1e300, 1e300});
  }
};

/// Objective of a search: minimize minimize[0] (ties: minimize[1], ...) among the evaluations that
/// satisfy every constraint. The Pareto set is over all of `minimize`, among the same evaluations.
struct Objective {
  std::vector<std::string> minimize = {};
  std::vector<Constraint> subject_to = {};
  bool operator==(const Objective&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("minimize", self.minimize, "metrics to minimize, the most important first");
    visit("subject_to", self.subject_to, "limits to keep");
  }
};

/// Checks an objective by itself. UserError if it minimizes nothing, minimizes a metric twice, or
/// has a limit that is not finite.
void CheckObjective(const Objective& objective);
/// Also throws UserError, listing `metrics`, if the objective names a metric that is not among
/// them.
void CheckObjective(const Objective& objective, const std::vector<std::string>& metrics);
/// Does the same for the metrics of a goal (StopRules).
void CheckGoal(const std::vector<Constraint>& goal, const std::vector<std::string>& metrics);

/// Returns how far each constrained metric is above its limit, relative to max(|limit|, 1e-9):
/// negative below the limit, 0 at it. UserError if a metric is missing.
[[nodiscard]] std::vector<double> ConstraintValues(const Objective& objective,
                                                   const Evaluation& evaluation);
/// Returns the sum of the positive ConstraintValues; 0 if all constraints are satisfied. UserError
/// if a metric is missing.
[[nodiscard]] double Violation(const Objective& objective, const Evaluation& evaluation);
/// Returns the reward of an evaluation in an env over a model, larger is better: minus the sum of
/// the minimized metrics, minus Violation, at least -9; -10 for a failed candidate. Percentages
/// count as fractions and bytes as megabytes, which brings all terms near 1.
[[nodiscard]] double RewardOf(const Objective& objective, const Evaluation& evaluation);
[[nodiscard]] std::vector<double> ObjectiveValues(const Objective& objective,
                                                  const Evaluation& evaluation);

/// Builds the setup of an agent for a search of `problem` by `objective`. It holds the decisions,
/// the counts, the first trial number after the anchors and `seeds` (StudyOptions), the problem's
/// mask and prior knowledge, its estimates of the objective, and its additive costs if the problem
/// declares them for every metric of the objective. The problem outlives the setup.
[[nodiscard]] AgentSetup AgentSetupFor(const SearchProblem& problem, const Objective& objective,
                                       std::uint64_t seed, std::span<const Assignment> seeds = {});

}  // namespace msc::gym
