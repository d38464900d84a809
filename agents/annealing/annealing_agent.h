#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent for simulated annealing, a walk from neighbour to neighbour that at first also
/// accepts worse ones.
///
/// The energy of a trial is the share of all trials so far that are better (IsBetterTrial), so it
/// needs no scale and respects constraints. The temperature falls with the number of trials without
/// end, as the budget is unknown. Four neighbours a round, judged one after the other. Source: S.
/// Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", 1983.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeAnnealingAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
