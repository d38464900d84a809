#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "gym/core/agent.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// metric <= limit.
struct Constraint {
  std::string metric;
  double limit = 0;
  bool operator==(const Constraint&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("metric", self.metric, "name of a metric of the problem");
    visit("limit", self.limit, "largest value allowed", Within{-1e300, 1e300});
  }
};

/// What is sought: the least of minimize[0] (ties: minimize[1], ...) among evaluations that keep
/// every constraint. The Pareto set is over all of minimize, among the same evaluations.
struct Objective {
  std::vector<std::string> minimize;
  std::vector<Constraint> subject_to;
  bool operator==(const Objective&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("minimize", self.minimize, "metrics to make small, the most important first");
    visit("subject_to", self.subject_to, "limits to keep");
  }
};

/// How far each constrained metric lies above its limit, relative to max(|limit|, 1e-9): negative
/// where there is room, 0 at the limit itself. UserError if a metric is missing.
[[nodiscard]] std::vector<double> ConstraintValues(const Objective& objective,
                                                   const Evaluation& evaluation);
/// Sum over constraints of how far the metric lies above its limit, relative to max(|limit|, 1e-9);
/// 0 when all are kept. UserError if a metric is missing.
[[nodiscard]] double Violation(const Objective& objective, const Evaluation& evaluation);
/// What an env over a model earns for an evaluation, larger is better: less what is minimized,
/// added up, and less Violation, at least -9; -10 where the candidate failed. Percents count as
/// shares and bytes in megabytes, so that parts are near 1.
[[nodiscard]] double RewardOf(const Objective& objective, const Evaluation& evaluation);
[[nodiscard]] std::vector<double> ObjectiveValues(const Objective& objective,
                                                  const Evaluation& evaluation);

/// What an agent hears of a problem that is searched for `objective`: decisions, counts, the first
/// trial after the anchors and after `seeds` (StudyOptions), additive costs where the problem
/// declares all that matter, its estimates, features and relevance, its front of covers, and its
/// mask. The problem outlives it.
[[nodiscard]] AgentSetup AgentSetupFor(const SearchProblem& problem, const Objective& objective,
                                       std::uint64_t seed, std::span<const Assignment> seeds = {});

}  // namespace msc::gym
