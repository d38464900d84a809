#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes a greedy agent that goes by sensitivities and reverts changes that do not help.
///
/// It tries every single change of the best of the first results. It then applies the changes that
/// helped, the best first, each on top of those before, and reverts those that do not help there.
/// It repeats this from the result until no single change helps, then restarts from the best trial
/// with some decisions redrawn. A pass takes at least as many trials as there are choices beyond
/// the first of each decision.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGreedyAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
