#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Bisects ordered choices for the furthest one that keeps the constraints.
///
/// Takes the choices of every decision as ordered from the mildest to the strongest, and expects
/// that going further loses feasibility once. First one knob over all decisions, which raises them
/// one after the other in their order; then each decision on its own, again and again until none
/// goes further. After that, changes of the best at random. One trial at a time: log2 of the number
/// of choices for each search. Without constraints it tries the strongest choice everywhere first.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeBisectionAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
