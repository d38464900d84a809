#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gym/core/problem.h"

namespace msc::agents {

/// The assignment number `n` in the order where the last decision varies fastest: the digits of `n`
/// in the mixed radix of the numbers of choices. Absent when there are no more than `n`
/// assignments; spaces larger than 2^64 are fine.
[[nodiscard]] std::optional<gym::Assignment> NthAssignment(std::span<const gym::Decision> decisions,
                                                           std::uint64_t n);

}  // namespace msc::agents
