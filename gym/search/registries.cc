#include "gym/search/registries.h"

#include "compiler/targets/register.h"

namespace msc::gym {

TargetRegistry MakeTargets() {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  return registry;
}

agents::AgentRegistry MakeAgents() {
  agents::AgentRegistry registry;
  agents::RegisterAll(registry);
  return registry;
}

}  // namespace msc::gym
