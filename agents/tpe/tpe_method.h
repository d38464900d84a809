#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// Which trials count as good: the best by IsBetterTrial, or those that NSGA-II would keep.
enum class Goodness : unsigned char { kBest, kFront };

/// Makes the method of the agents `tpe` and `motpe`, for portfolios.
[[nodiscard]] std::unique_ptr<Method> MakeTpeMethod(const gym::AgentSetup& setup,
                                                    Goodness goodness);

}  // namespace msc::agents
