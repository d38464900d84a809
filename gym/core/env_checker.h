#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gym/core/env.h"

namespace msc::gym {

/// Makes a new env; all envs that it makes behave the same.
using EnvMaker = std::function<std::unique_ptr<Env>()>;

/// Whether rewards and evaluations must be repeatable.
enum class Repeats : unsigned char {
  kAsFactsSay,  ///< not if EnvFacts::nondeterministic is set
  kAlways,      ///< always: a deterministic stand-in takes the measurements
};

/// Checks an env against the contract of Env and SearchProblem, and returns one line for each
/// violation; an empty list means that it passed. For tests of new envs; runs a dozen episodes.
///
/// Checks of the env: facts and spaces are valid; an unknown reset option, an illegal action, a
/// step before the reset and a step after the end are rejected; the same seed gives the same
/// observation, and, if the env is deterministic, the same episode, in a new env and in a used one;
/// resets without a seed continue the generator; observations stay in their space, masks are not
/// empty, rewards are finite, and episodes keep max_steps.
///
/// Checks of problem(), if the env has one: decisions, metrics and anchors are valid; Describe and
/// records are JSON; Evaluate and Step reject what the mask excludes, and nothing else; metrics
/// keep their lower bounds and equal the sums that the problem declares; each assignment is
/// evaluated once, with all its metrics, and again with the same result if deterministic, also
/// after Recall of the earlier results; a stopped evaluation returns; rough evaluations have the
/// same metrics as full ones; estimates are finite and belong to metrics; relevance is finite, with
/// one value for each decision; covers are legal, distinct and have costs; taking the same choices
/// by Step ends in the same metrics.
///
/// Source: the meaning of Gymnasium 1.x's `check_env`; the checks of problem() are ours.
[[nodiscard]] std::vector<std::string> CheckEnv(const EnvMaker& make,
                                                Repeats repeats = Repeats::kAsFactsSay);

}  // namespace msc::gym
