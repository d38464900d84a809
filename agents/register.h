#pragma once

#include "gym/core/agent.h"
#include "gym/core/registry.h"

namespace msc::agents {

using AgentRegistry = gym::Registry<gym::Agent, const gym::AgentSetup&>;

/// Adds every agent of this folder, one line each in register.cc.
void RegisterAll(AgentRegistry& registry);

}  // namespace msc::agents
