#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Points of a Sobol sequence, shifted by the seed: the first 2^k cover each decision evenly.
/// Results change nothing but what is not proposed again.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeSobolAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
