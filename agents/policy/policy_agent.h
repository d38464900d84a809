#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent with a learned policy. It walks the decisions in their order, and a small network
/// gives the probabilities of each choice from the position, the features of the decision and the
/// previous choice, as AMC and HAQ decide one layer after the other.
///
/// Eight walks a round, learned from by proximal policy optimisation. The reward of a walk is its
/// rank among all trials so far by IsBetterTrial, so it needs no scale and respects constraints;
/// every round also learns from the best four trials (self-imitation). Illegal choices have
/// probability 0. The policy starts without knowledge, so it needs budgets of hundreds of trials.
/// Sources: J. Schulman et al., "Proximal policy optimization algorithms", 2017, section 3; J. Oh
/// et al., "Self-imitation learning", 2018; Y. He et al., "AMC", 2018; K. Wang et al., "HAQ", 2019,
/// for the walk.
[[nodiscard]] std::unique_ptr<gym::Agent> MakePolicyAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
