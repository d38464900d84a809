#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// Who survives: the best by one order (Better), or a front (constrained domination and crowding).
enum class Selection : unsigned char { kBest, kFront };

/// The method of the agents `evolution` and `nsga2`, for portfolios.
[[nodiscard]] std::unique_ptr<Method> MakeEvolutionMethod(const gym::AgentSetup& setup,
                                                          Selection selection);

}  // namespace msc::agents
