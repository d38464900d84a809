#include "agents/register.h"

#include "agents/grid/grid_agent.h"
#include "agents/random/random_agent.h"

namespace msc::agents {

void RegisterAll(AgentRegistry& registry) {
  registry.Add("grid", "every assignment once, in order; for small spaces", MakeGridAgent);
  registry.Add("random", "uniform and independent; the control", MakeRandomAgent);
}

}  // namespace msc::agents
