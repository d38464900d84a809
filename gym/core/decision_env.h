#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// How a SearchProblem is walked as an Env.
struct DecisionEnvSetup {
  /// id and nondeterministic; max_steps becomes the number of decisions.
  EnvFacts facts;
  /// What the last step earns, larger is better, finite; it is given failures too. Steps before
  /// earn 0.
  std::function<double(const Evaluation&)> reward;
  /// How far an evaluation that did not fail is above limits, 0 where it keeps all. May be empty.
  std::function<double(const Evaluation&)> violation = {};
};

/// The env whose step i takes decision i of `problem`, and whose last step evaluates the whole
/// assignment.
///
/// Action: Discrete(most choices of a decision); the mask rules out those that the decision at hand
/// lacks and those that the problem's mask rules out. Observation: a Dict of "decision", the index
/// of the decision at hand (after the end their number), "chosen", for each decision 0 while open,
/// else 1 + the choice, and where the problem has Features, "features", the row of the decision at
/// hand (after the end zeros). The info of the last step holds each metric under its name, and
/// "violation" where the setup says it, or "failure". UserError if the setup or the decisions are
/// malformed.
[[nodiscard]] std::unique_ptr<Env> MakeDecisionEnv(std::unique_ptr<SearchProblem> problem,
                                                   DecisionEnvSetup setup);

}  // namespace msc::gym
