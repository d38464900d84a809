#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// Makes the method of the agent `ilp`, for portfolios. It tries at most `changes` single changes
/// of the best trial before it fits effects; SIZE_MAX = all.
[[nodiscard]] std::unique_ptr<Method> MakeIlpMethod(const gym::AgentSetup& setup,
                                                    std::size_t changes);

}  // namespace msc::agents
