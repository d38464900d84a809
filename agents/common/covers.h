#pragma once

#include <vector>

#include "agents/common/method.h"

namespace msc::agents {

/// Returns the exact covers that a problem declares (PriorKnowledge::cover_front), most promising
/// first: by a prediction fitted to the covers tried so far, factor * cost + price * boundaries.
/// With fewer than two results, by cost alone.
[[nodiscard]] std::vector<gym::Assignment> CoversInOrder(const gym::AgentSetup& setup,
                                                         const History& history);

}  // namespace msc::agents
