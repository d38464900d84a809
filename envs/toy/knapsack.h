#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gym/core/env.h"

namespace msc::envs {

inline constexpr std::array<std::string_view, 3> kKnapsackPrecisions = {"f32", "bf16", "int8"};

/// A layer of the toy network; values are by precision, in the order above.
struct KnapsackLayer {
  std::string_view name;
  std::array<std::int32_t, 3> latency_us;
  std::array<std::int32_t, 3> drop_milli;  ///< thousandths of a percentage point
};
[[nodiscard]] std::span<const KnapsackLayer> KnapsackLayers();

/// Limit of the accuracy drop, in percentage points.
inline constexpr double kKnapsackBudget = 0.5;

/// Makes quantization as a knapsack: 6 layers, each f32, bf16 or int8; time and loss are sums.
///
/// Metrics: "latency_ratio", time relative to all f32; "accuracy_drop" in percentage points. Goal:
/// the smallest latency_ratio with accuracy_drop <= 0.5. The limit excludes both all int8 and
/// choosing each layer on its own. Reward: -latency_ratio, minus 10 per point above the limit.
/// Optimum: bf16 for conv1, depthwise and head, int8 for the rest, with latency_ratio 0.395 and
/// accuracy_drop 0.48. Deterministic.
[[nodiscard]] std::unique_ptr<gym::Env> MakeKnapsackEnv();

/// Makes the same problem with a mask: of two neighbouring layers, one must not be bf16 and the
/// other int8, as if no conversion between these existed. The mask leaves 239 of 729 assignments.
/// Optimum: int8 for conv2, conv3 and down, f32 for the rest, with latency_ratio 0.49 and
/// accuracy_drop 0.39.
[[nodiscard]] std::unique_ptr<gym::Env> MakeMaskedKnapsackEnv();

}  // namespace msc::envs
