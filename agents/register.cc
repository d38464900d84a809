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
  registry.Add("annealing", "simulated annealing, walks from neighbour to neighbour",
               MakeAnnealingAgent);
  registry.Add("auto", "the portfolio: sensitivities, additive front, Gaussian process, evolution",
               MakeAutoAgent);
  registry.Add("bisection", "the strongest ordered choices that keep the constraints",
               MakeBisectionAgent);
  registry.Add("collage", "exact covers of regions where the problem declares them, best first",
               MakeCollageAgent);
  registry.Add("evolution", "crossover and mutation of the best", MakeEvolutionAgent);
  registry.Add("gp", "Bayesian optimisation with Gaussian processes, for small budgets",
               MakeGpAgent);
  registry.Add("greedy", "single changes by what they gain, taken back where they do not",
               MakeGreedyAgent);
  registry.Add("grid", "every assignment once, in order; for small spaces", MakeGridAgent);
  registry.Add("ilp",
               "knapsack over additive costs, declared or measured; exact where fronts are small",
               MakeIlpAgent);
  registry.Add("motpe", "tpe in search of the front of all objectives", MakeMotpeAgent);
  registry.Add("nsga2", "evolution in search of the front of all objectives", MakeNsga2Agent);
  registry.Add("policy", "a network that learns to walk the decisions, for budgets of hundreds",
               MakePolicyAgent);
  registry.Add("random", "uniform over what was not tried; the control", MakeRandomAgent);
  registry.Add("sobol", "points that cover every decision evenly", MakeSobolAgent);
  registry.Add("sweep", "every choice of every decision alone, then the best of each together",
               MakeSweepAgent);
  registry.Add("tpe", "tree-structured Parzen estimator, for large budgets", MakeTpeAgent);
}

}  // namespace msc::agents
