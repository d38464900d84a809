#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Tries the exact covers of a problem that declares them (AgentSetup::cover_front): the best where
/// boundaries are free first. What a whole takes is then fitted as a sum of its groups and a price
/// for each boundary, and the covers that are left are tried in the order in which that puts them.
/// After those, or where there are none, single changes of the best and what lies near it. Four a
/// round.
/// Source: Jeon et al., "Collage: Seamless Integration of Deep Learning Backends with Automatic
/// Placement", 2022, for optimal groups first and whole runs second; fitting and order are ours.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeCollageAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
