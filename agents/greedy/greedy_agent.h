#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Greedy by sensitivity, with revert.
///
/// Tries every single change of the best of what was told first, then applies the changes that
/// helped, best first, each on top of those before, and takes back what did not help there. Repeats
/// from the result until no single change helps; then from the best with some decisions drawn
/// afresh. A pass takes as many trials as there are choices beyond the first of each decision, and
/// more.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGreedyAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
