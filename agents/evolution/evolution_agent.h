#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that evolves one best answer. Parents are the best quarter of all trials, 4 to
/// 16, selected by binary tournament, with uniform crossover; mutation redraws each decision with
/// probability 0.5 / number of decisions. Four a round.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeEvolutionAgent(const gym::AgentSetup& setup);

/// Makes an NSGA-II agent: as above, but the 4 to 20 parents are the best by constrained
/// domination, then by crowding distance, so that the population spreads over the front of all
/// objectives.
/// Source: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeNsga2Agent(const gym::AgentSetup& setup);

}  // namespace msc::agents
