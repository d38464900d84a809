#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/decision.h"

namespace msc::agents {

/// Returns for each choice of an ordinal decision its place between the least amount, 0, and the
/// largest, 1; empty if choices are names or there is only one amount.
///
/// The place is the mean of two scales. One is the rank: whoever lists 1, 2, 4, 8 or 16, 32, 48, 64
/// takes each step as about equally important. The other is the amount itself, by its logarithm if
/// all amounts are positive: effects of sizes, densities and bits are mostly in proportion.
[[nodiscard]] std::vector<double> PlacesOf(const gym::Decision& decision);

/// Returns in half of the draws the choice of the next larger or the next smaller amount than that
/// of choice `from`, at the least and the largest amount the only one of them. Nothing in the other
/// half, for the caller to draw from all choices, and nothing, without a draw, for names.
[[nodiscard]] std::optional<std::int32_t> DrawNextAmount(const gym::Decision& decision,
                                                         std::int32_t from, Rng& rng);

}  // namespace msc::agents
