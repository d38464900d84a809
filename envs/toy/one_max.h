#pragma once

#include <cstdint>
#include <memory>

#include "gym/core/env.h"

namespace msc::envs {

inline constexpr std::int64_t kOneMaxBits = 10;

/// Makes the problem of counting ones: 10 decisions, each "off" or "on".
///
/// Metrics: "zeros", the number of decisions that are off; "switches", the number of neighbours
/// that differ. Reward: -zeros. Optimum: all on, the only assignment with zeros 0; it also has
/// switches 0. Deterministic.
/// Source: J. D. Schaffer and L. J. Eshelman, "On crossover as an evolutionarily viable strategy",
/// ICGA 1991 (the problem; the second metric is ours).
[[nodiscard]] std::unique_ptr<gym::Env> MakeOneMaxEnv();

}  // namespace msc::envs
