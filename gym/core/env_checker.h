#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gym/core/env.h"

namespace msc::gym {

/// Makes an env afresh; each one made behaves the same.
using EnvMaker = std::function<std::unique_ptr<Env>()>;

/// Whether rewards and evaluations are the same again.
enum class Repeats : unsigned char {
  kAsFactsSay,  ///< not where EnvFacts::nondeterministic says that they are measured
  kAlways,      ///< also there: a stand-in that is deterministic measures in this env
};

/// Tries an env against the contract of Env and SearchProblem and says what it breaks, one finding
/// a line; nothing = passed. For the tests of whoever writes an env; it runs a dozen episodes.
///
/// Tried: facts and spaces are sane; an unknown reset option, an illegal action, a step before the
/// reset and one after the end are refused; the same seed gives the same observation, and the same
/// episode where the env is deterministic, in a fresh env and in a used one; resets without a seed
/// go on with the generator; episodes keep observations in their space, masks non-empty, rewards
/// finite and max_steps. If the env offers problem(): decisions, metrics and anchors are sane;
/// Describe and records are JSON; what its mask rules out is refused, by Evaluate and by Step, and
/// nothing else; metrics keep their lower bounds, and are the sums that AdditiveCosts declares;
/// each assignment is evaluated once with all its metrics, and again with the same result where
/// deterministic, also after Recall of what was found; a stopped evaluation returns; rough
/// evaluations have the same metrics as full ones; estimates are finite and of metrics, relevance
/// finite and one for each decision; covers are legal, different and have costs; taking the same
/// choices with Step ends in the same metrics.
///
/// Source: the meaning of Gymnasium 1.x's `check_env`; the part about problem() is ours.
[[nodiscard]] std::vector<std::string> CheckEnv(const EnvMaker& make,
                                                Repeats repeats = Repeats::kAsFactsSay);

}  // namespace msc::gym
