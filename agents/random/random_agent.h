#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Every decision uniform and independent, trial after trial: the control that a search must beat.
/// Trial N is a function of the seed and N alone; results change nothing, and nothing is avoided,
/// not even what was tried before.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRandomAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
