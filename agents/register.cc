#include "agents/register.h"

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

namespace msc::agents {

void RegisterAll(AgentRegistry& registry) {
  registry.Add("annealing",
               "simulated annealing: moves between assignments that differ in one decision",
               MakeAnnealingAgent);
  registry.Add("auto",
               "portfolio of methods: sensitivities, additive front, Gaussian process, evolution",
               MakeAutoAgent);
  registry.Add("bisection", "bisection for the strongest ordered choices that keep the constraints",
               MakeBisectionAgent);
  registry.Add("collage", "exact covers of regions, best first, for problems that declare regions",
               MakeCollageAgent);
  registry.Add("evolution", "evolution: crossover and mutation of the best trials",
               MakeEvolutionAgent);
  registry.Add("gp", "Bayesian optimisation with Gaussian processes, for small budgets",
               MakeGpAgent);
  registry.Add(
      "greedy",
      "greedy search: makes single changes with the largest gain, and reverts those without gain",
      MakeGreedyAgent);
  registry.Add("grid", "every assignment once, in order, for small spaces", MakeGridAgent);
  registry.Add("ilp",
               "knapsack over additive costs, declared or measured; exact if fronts are small",
               MakeIlpAgent);
  registry.Add("motpe", "tree-structured Parzen estimator for the Pareto front of all objectives",
               MakeMotpeAgent);
  registry.Add("nsga2", "NSGA-II: evolution for the Pareto front of all objectives",
               MakeNsga2Agent);
  registry.Add("policy",
               "a network that learns to make one decision after another, for hundreds of trials",
               MakePolicyAgent);
  registry.Add("random", "uniformly random assignments that were not tried before, as a baseline",
               MakeRandomAgent);
  registry.Add("sobol", "Sobol points, which cover every decision evenly", MakeSobolAgent);
  registry.Add("sweep", "every choice of every decision alone, then the best of each together",
               MakeSweepAgent);
  registry.Add("tpe", "tree-structured Parzen estimator, for large budgets", MakeTpeAgent);
}

}  // namespace msc::agents
