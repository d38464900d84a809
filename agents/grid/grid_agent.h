#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that proposes every legal assignment once, the last decision varying fastest, and
/// ends then. Exact, but only for small spaces. Trial first_trial gets the first assignment.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGridAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
