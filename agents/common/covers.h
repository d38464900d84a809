#pragma once

#include <vector>

#include "agents/common/method.h"

namespace msc::agents {

/// The exact covers that a problem declares (AgentSetup::cover_front), most promising first: by
/// what wholes that were tried took, fitted as their cost times a factor and a price for each
/// boundary. Before two were tried, by cost alone.
[[nodiscard]] std::vector<gym::Assignment> CoversInOrder(const gym::AgentSetup& setup,
                                                         const History& history);

}  // namespace msc::agents
