#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that draws uniformly from assignments that were not proposed before and are not
/// anchors: the control that a search must beat. It ignores results, so it never waits for one.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
