#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gym/core/problem.h"

namespace msc::agents {

/// Returns assignment number `n` in the order in which the last decision varies fastest: the digits
/// of `n` in the mixed radix of the numbers of choices. Nothing if there are at most `n`
/// assignments; spaces larger than 2^64 are supported.
[[nodiscard]] std::optional<gym::Assignment> NthAssignment(std::span<const gym::Decision> decisions,
                                                           std::uint64_t n);

}  // namespace msc::agents
