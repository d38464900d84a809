#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that tries every choice of every decision alone, all other decisions at their
/// first choice, in the order of the decisions, and then the best choices of all decisions
/// together. That is the grid search of TVM's MSC, whose tasks are decisions. It then does the same
/// around the best trial so far, until no single change improves it, and at last proposes random
/// changes of the best trial. If decisions interact, their best choices need not be good together,
/// so only trials determine the best one. Four a round.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeSweepAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
