#pragma once

#include <memory>

#include "agents/common/method.h"

namespace msc::agents {

/// Makes the method of the agent `gp`, for portfolios.
[[nodiscard]] std::unique_ptr<Method> MakeGpMethod(const gym::AgentSetup& setup);

}  // namespace msc::agents
