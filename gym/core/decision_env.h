#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// How a SearchProblem becomes an Env.
struct DecisionEnvSetup {
  /// The caller sets id and nondeterministic; MakeDecisionEnv sets max_steps to the number of
  /// decisions.
  EnvFacts facts;
  /// Returns the reward of the last step: finite, larger is better. It is also called with failed
  /// evaluations. All earlier steps have reward 0.
  std::function<double(const Evaluation&)> reward;
  /// Returns by how much a successful evaluation exceeds its limits, 0 if it keeps them all. May be
  /// empty.
  std::function<double(const Evaluation&)> violation = {};
};

/// Makes the env whose step i takes decision i of `problem` and whose last step evaluates the whole
/// assignment.
///
/// Action: Discrete(largest number of choices of a decision). The mask excludes choices that the
/// current decision does not have, and those that the problem's mask excludes. Observation: a Dict
/// with "decision", the index of the current decision (after the last one, the number of
/// decisions); "chosen", 0 for each open decision, else 1 + its choice; and, if the problem has
/// features (PriorKnowledge), "features", the row of the current decision (after the last one,
/// zeros). The info of the last step holds each metric by name and "violation" if the setup defines
/// it, or "failure". Throws UserError if the setup or the decisions are malformed.
[[nodiscard]] std::unique_ptr<Env> MakeDecisionEnv(std::unique_ptr<SearchProblem> problem,
                                                   DecisionEnvSetup setup);

}  // namespace msc::gym
