#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// The portfolio: what to use when nothing is known of the problem.
///
/// After the anchors single changes of the best, at most 24; then rounds of four in which Gaussian
/// processes, the additive model's front and evolution (NSGA-II for several objectives) propose
/// side by side, each hearing all results. From 200 trials on the processes share their part with
/// TPE. Always holds the best feasible answer told.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeAutoAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
