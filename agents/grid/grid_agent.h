#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Every assignment once, the last decision varying fastest; ends when all were proposed. Exact,
/// and only for small spaces. The trial first_trial gets the first assignment.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGridAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
