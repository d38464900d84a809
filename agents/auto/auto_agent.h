#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// The portfolio: what to use when nothing is known of the problem.
///
/// In rounds of an eighth of the trials before, one at least and 16 at most (Rounds::kGrowing): as
/// many workers of a farm have something to do.
/// Where the problem declares additive costs, their front (see ilp) comes first, and where it
/// declares covers, those; where it has estimates, the first four trials are the best by these,
/// mended by each result. Then three of four proposals come from Gaussian processes, whose kernel
/// holds the sensitivities, as soon as there are three trials, such as anchors; the fourth in turn
/// from the front of an additive model with single changes that mend it and from evolution (NSGA-II
/// for several objectives). From 200 trials on, one of a round comes from processes and the others
/// from TPE and from evolution. Each part hears all results.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeAutoAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
