#pragma once

#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Adds normal noise with standard deviation `deviation` to every reward, to test how a learner
/// copes with noisy measurements. The draws follow from the seed of Reset, so a deterministic env
/// stays deterministic. problem() is the inner env's and has no noise. Throws UserError if
/// `deviation` is below 0 or not finite.
[[nodiscard]] std::unique_ptr<Env> WithRewardNoise(std::unique_ptr<Env> env, double deviation);

}  // namespace msc::gym
