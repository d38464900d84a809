#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/partition/problem.h"

namespace msc::detail {

/// Returns candidates of `chosen`, which are disjoint, that wait for each other, so that no cover
/// can contain all of them; empty if all can run. A member of the cycle is left out if a path
/// through its own nodes leads from where the cycle enters it to where the cycle leaves it: other
/// candidates with these nodes would not break the cycle.
[[nodiscard]] std::vector<std::uint32_t> FindCycle(const CoverProblem& problem,
                                                   std::span<const std::uint32_t> chosen);

}  // namespace msc::detail
