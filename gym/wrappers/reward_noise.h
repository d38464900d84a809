#pragma once

#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Adds a normal draw of the given deviation to every reward, as if it had been measured so badly:
/// to see what a learner makes of a noisy machine. Draws follow from the seed of Reset, so that an
/// env that was deterministic stays so. problem() is the inner env's and has no noise. UserError if
/// `deviation` is below 0 or not finite.
[[nodiscard]] std::unique_ptr<Env> WithRewardNoise(std::unique_ptr<Env> env, double deviation);

}  // namespace msc::gym
