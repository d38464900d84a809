#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes the portfolio agent, the default if nothing is known of the problem.
///
/// Rounds have an eighth of the number of earlier trials, between 1 and 16 (Rounds::kGrowing),
/// which keeps as many workers of a farm busy.
///
/// Covers and additive costs that the problem declares come first: the covers in order of promise,
/// and the front of the costs (see MakeIlpAgent). If the problem has estimates, the first four
/// trials are the best ones by these, corrected by each result. From three trials on, anchors
/// included, three of four proposals come from Gaussian processes, whose kernel holds the
/// sensitivities; under limits, their means are the estimates. The fourth comes alternately from
/// the front of an additive model, with single changes that correct it, and from evolution (NSGA-II
/// for several objectives). From 200 trials on, one proposal a round comes from Gaussian processes
/// and the others from TPE and evolution. Each part learns from all results.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeAutoAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
