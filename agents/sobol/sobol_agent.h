#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that proposes the points of a Sobol sequence, shifted by the seed; the first 2^k
/// cover each decision evenly. Results only determine which assignments are not proposed again.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeSobolAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
