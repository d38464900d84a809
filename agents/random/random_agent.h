#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Uniform over what was not proposed before and no anchor has: the control that a search must
/// beat. Results change nothing, so it never waits for one.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
