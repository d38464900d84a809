#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gym/core/agent.h"

namespace msc::agents {

/// Returns the expected relevance of each decision for each objective, then constraint, before any
/// trial: shares that sum to 1. Half of each share is proportional to the range of the estimated
/// effects (AgentSetup::estimates) or, without these, to PriorKnowledge::relevance; the other half,
/// and all of it if neither is known, is equal for all decisions.
[[nodiscard]] std::vector<std::vector<double>> ExpectedRelevance(const gym::AgentSetup& setup);

/// Returns a weighted mean of the shares `expected` and of `fitted`, the relevance found in
/// results, in any unit. The weight of `fitted` grows with `seen`, the number of results, relative
/// to the number of effects to estimate. The result sums to 1. Both have one number >= 0 for each
/// decision.
[[nodiscard]] std::vector<double> UpdatedRelevance(std::span<const gym::Decision> decisions,
                                                   std::span<const double> expected,
                                                   std::span<const double> fitted,
                                                   std::size_t seen);

}  // namespace msc::agents
