#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that tries the exact covers of a problem that declares them
/// (PriorKnowledge::cover_front), at first the one that is best with free boundaries. It then fits
/// the objective of a cover as a sum of the costs of its groups and a price for each boundary, and
/// tries the remaining covers in the order of that prediction. After those, or without covers, it
/// tries single changes of the best trial and random neighbours of it. Four a round.
/// Source: Jeon et al., "Collage: Seamless Integration of Deep Learning Backends with Automatic
/// Placement", 2022, for optimal groups first and whole runs second; fitting and order are ours.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeCollageAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
