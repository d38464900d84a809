#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Simulated annealing: walks from neighbour to neighbour, at first also uphill.
///
/// The energy of a trial is the share of all trials so far that are better (Better), so it needs no
/// scale and keeps constraints in mind; the temperature falls with the number of trials, for ever,
/// as the budget is not known. Four neighbours a round, judged one after the other.
/// Source: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", 1983.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeAnnealingAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
