#pragma once

#include <cstdint>
#include <memory>

#include "gym/core/env.h"

namespace msc::envs {

inline constexpr std::int64_t kOneMaxBits = 10;

/// Counting ones: 10 decisions, each "off" or "on".
///
/// Metrics: "zeros", how many are off; "switches", how often neighbours differ. Reward: -zeros.
/// Optimum: all on, with zeros 0 and switches 0, the only one with zeros 0. Deterministic.
/// Source: J. D. Schaffer and L. J. Eshelman, "On crossover as an evolutionarily viable strategy",
/// ICGA 1991 (the problem; the second metric is ours).
[[nodiscard]] std::unique_ptr<gym::Env> MakeOneMaxEnv();

}  // namespace msc::envs
