#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gym/core/env.h"

namespace msc::envs {

inline constexpr std::array<std::string_view, 3> kKnapsackPrecisions = {"f32", "bf16", "int8"};

/// A layer of the toy network, by precision in the order above.
struct KnapsackLayer {
  std::string_view name;
  std::array<std::int32_t, 3> latency_us;
  std::array<std::int32_t, 3> drop_milli;  ///< thousandths of a point of accuracy
};
[[nodiscard]] std::span<const KnapsackLayer> KnapsackLayers();

/// What accuracy may be lost, in points.
inline constexpr double kKnapsackBudget = 0.5;

/// Quantizing a network as a knapsack: 6 layers, each f32, bf16 or int8; time and loss add up.
///
/// Metrics: "latency_ratio", time over that of all f32; "accuracy_drop" in points. Sought: the
/// least latency_ratio with accuracy_drop <= 0.5. The budget rules out both all int8 and the choice
/// of each layer on its own merit. Reward: -latency_ratio, less 10 a point beyond the budget.
/// Optimum: int8 but for conv1, depthwise and head, which are bf16; latency_ratio 0.395 and
/// accuracy_drop 0.48. Deterministic.
[[nodiscard]] std::unique_ptr<gym::Env> MakeKnapsackEnv();

/// The same where neighbours must not have one bf16, the other int8: as if nothing turned one into
/// the other. The mask rules that out, which leaves 239 of 729 assignments. Optimum: int8 for
/// conv2, conv3 and down, f32 for the rest; latency_ratio 0.49 and accuracy_drop 0.39.
[[nodiscard]] std::unique_ptr<gym::Env> MakeMaskedKnapsackEnv();

}  // namespace msc::envs
