#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// Which trials survive: the best by IsBetterTrial, or a front (constrained domination, then
/// crowding distance).
enum class Selection : unsigned char { kBest, kFront };

/// Makes the method of the agents `evolution` and `nsga2`, for portfolios.
[[nodiscard]] std::unique_ptr<Method> MakeEvolutionMethod(const gym::AgentSetup& setup,
                                                          Selection selection);

}  // namespace msc::agents
