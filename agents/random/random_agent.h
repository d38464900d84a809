#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Uniform over what was not tried before: the control that a search must beat. Results change
/// nothing else.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
