#pragma once

#include "agents/register.h"
#include "compiler/targets/target.h"

namespace msc::gym {

/// Return everything that this build includes.
[[nodiscard]] TargetRegistry MakeTargets();
[[nodiscard]] agents::AgentRegistry MakeAgents();

}  // namespace msc::gym
