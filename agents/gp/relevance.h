#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gym/core/agent.h"

namespace msc::agents {

/// How much each decision is expected to count for each objective, then constraint, before anything
/// was tried: shares that sum to 1. Half of them by the ranges of what is estimated
/// (AgentSetup::estimates) or, where nothing is, by AgentSetup::relevance; the rest, and all where
/// neither is known, alike.
[[nodiscard]] std::vector<std::vector<double>> ExpectedRelevance(const gym::AgentSetup& setup);

/// What `expected` becomes by `fitted`, how much each decision was found to count, in any unit: the
/// more results there are of that, `seen`, beside effects to be told apart, the more of it. Shares
/// that sum to 1. Both have one number >= 0 for each decision.
[[nodiscard]] std::vector<double> UpdatedRelevance(std::span<const gym::Decision> decisions,
                                                   std::span<const double> expected,
                                                   std::span<const double> fitted,
                                                   std::size_t seen);

}  // namespace msc::agents
