#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/partition/problem.h"

namespace msc::detail {

/// Where disjoint candidates wait for each other: some of them that no cover can hold together.
/// Those whose place on the cycle a path through their nodes would take, whoever computes these,
/// are left out. Empty if all can run.
[[nodiscard]] std::vector<std::uint32_t> FindCycle(const CoverProblem& problem,
                                                   std::span<const std::uint32_t> chosen);

}  // namespace msc::detail
