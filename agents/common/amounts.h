#pragma once

#include <vector>

#include "gym/core/decision.h"

namespace msc::agents {

/// Returns for each choice of an ordinal decision its place between the least amount, 0, and the
/// largest, 1; empty if choices are names or there is only one amount.
///
/// The place is the mean of two scales. One is the rank: whoever lists 1, 2, 4, 8 or 16, 32, 48, 64
/// takes each step as about equally important. The other is the amount itself, by its logarithm if
/// all amounts are positive: effects of sizes, densities and bits are mostly in proportion.
[[nodiscard]] std::vector<double> PlacesOf(const gym::Decision& decision);

}  // namespace msc::agents
