#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that bisects ordered choices for the strongest ones that keep the constraints.
///
/// It assumes that the choices of every decision are ordered from the mildest to the strongest, and
/// that feasibility is lost once on the way. It first bisects one parameter over all decisions,
/// which raises them one after the other in their order; then each decision on its own, repeatedly,
/// until none can be raised. After that it proposes random changes of the best trial. One trial per
/// round; each bisection takes log2 of the number of choices. Without constraints it tries the
/// strongest choice of every decision first.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeBisectionAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
