#include "agents/register.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "agents/annealing/annealing_agent.h"
#include "agents/auto/auto_agent.h"
#include "agents/bisection/bisection_agent.h"
#include "agents/collage/collage_agent.h"
#include "agents/evolution/evolution_agent.h"
#include "agents/gp/gp_agent.h"
#include "agents/greedy/greedy_agent.h"
#include "agents/grid/grid_agent.h"
#include "agents/grid/sweep_agent.h"
#include "agents/ilp/ilp_agent.h"
#include "agents/policy/policy_agent.h"
#include "agents/random/random_agent.h"
#include "agents/sobol/sobol_agent.h"
#include "agents/tpe/tpe_agent.h"
#include "compiler/base/error.h"

namespace msc::agents {

namespace {

struct Row {
  std::string_view name;
  AgentAim aim;
  std::unique_ptr<gym::Agent> (*make)(const gym::AgentSetup&);
  std::string_view summary;  ///< the line of `mscgym list agents`
};

constexpr auto kRows = std::to_array<Row>({
    {"annealing", AgentAim::kAnswer, MakeAnnealingAgent,
     "simulated annealing: moves between assignments that differ in one decision"},
    {"auto", AgentAim::kFront, MakeAutoAgent,
     "portfolio of methods: sensitivities, additive front, Gaussian process, evolution"},
    {"bisection", AgentAim::kAnswer, MakeBisectionAgent,
     "bisection for the strongest ordered choices that keep the constraints"},
    {"collage", AgentAim::kCover, MakeCollageAgent,
     "exact covers of regions, best first, for problems that declare regions"},
    {"evolution", AgentAim::kAnswer, MakeEvolutionAgent,
     "evolution: crossover and mutation of the best trials"},
    {"gp", AgentAim::kFront, MakeGpAgent,
     "Bayesian optimisation with Gaussian processes, for small budgets"},
    {"greedy", AgentAim::kAnswer, MakeGreedyAgent,
     "greedy search: makes single changes with the largest gain, and reverts those without gain"},
    {"grid", AgentAim::kNothing, MakeGridAgent,
     "every assignment once, in order, for small spaces"},
    {"ilp", AgentAim::kFront, MakeIlpAgent,
     "knapsack over additive costs, declared or measured; exact if fronts are small"},
    {"motpe", AgentAim::kFront, MakeMotpeAgent,
     "tree-structured Parzen estimator for the Pareto front of all objectives"},
    {"nsga2", AgentAim::kFront, MakeNsga2Agent,
     "NSGA-II: evolution for the Pareto front of all objectives"},
    {"policy", AgentAim::kAnswer, MakePolicyAgent,
     "a network that learns to make one decision after another, for hundreds of trials"},
    {"random", AgentAim::kNothing, MakeRandomAgent,
     "uniformly random assignments that were not tried before, as a baseline"},
    {"sobol", AgentAim::kNothing, MakeSobolAgent,
     "Sobol points, which cover every decision evenly"},
    {"sweep", AgentAim::kAnswer, MakeSweepAgent,
     "every choice of every decision alone, then the best of each together"},
    {"tpe", AgentAim::kAnswer, MakeTpeAgent, "tree-structured Parzen estimator, for large budgets"},
});

}  // namespace

void RegisterAll(AgentRegistry& registry) {
  for (const Row& row : kRows) {
    registry.Add(std::string(row.name), std::string(row.summary), row.make);
  }
}

AgentAim AimOf(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &Row::name);
  Check(row != kRows.end(), "the agent is registered");
  return row->aim;
}

}  // namespace msc::agents
