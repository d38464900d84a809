#pragma once

#include <functional>
#include <memory>

#include "gym/core/env.h"

namespace msc::gym {

/// Replaces each reward r by transform(r), which must be finite.
/// Source: Gymnasium 1.x `TransformReward`.
[[nodiscard]] std::unique_ptr<Env> WithTransformedReward(std::unique_ptr<Env> env,
                                                         std::function<double(double)> transform);

}  // namespace msc::gym
