#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// A policy that is learned: walks the decisions in their order and draws each choice from what a
/// small network says of the place, of what is known of its layer and of the choice before, as one
/// layer after the other is decided in AMC and HAQ.
///
/// Eight walks a round, learned from by proximal policy optimisation. What a walk is worth is the
/// share of all trials so far that are worse (Better), so it needs no scale and keeps constraints
/// in mind; the best four are learned from in every round (self-imitation). Choices that are ruled
/// out have no probability.
/// Sources: J. Schulman et al., "Proximal policy optimization algorithms", 2017, section 3; J. Oh
/// et al., "Self-imitation learning", 2018; Y. He et al., "AMC", 2018; K. Wang et al., "HAQ", 2019,
/// for the walk. It starts from nothing, so it wants budgets of hundreds.
[[nodiscard]] std::unique_ptr<gym::Agent> MakePolicyAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
