#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Evolution of one best answer: the best quarter of all trials, 4 to 16, are parents by binary
/// tournament, uniform crossover, each decision drawn afresh with a probability of one over their
/// number. 4 a round.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeEvolutionAgent(const gym::AgentSetup& setup);

/// NSGA-II: as above, but the best 4 to 20 are those by constrained domination, then crowding, so
/// that the population spreads over the front of all objectives.
/// Source: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeNsga2Agent(const gym::AgentSetup& setup);

}  // namespace msc::agents
