#pragma once

#include "agents/register.h"
#include "compiler/targets/target.h"

namespace msc::gym {

/// Everything this build has.
[[nodiscard]] TargetRegistry MakeTargets();
[[nodiscard]] agents::AgentRegistry MakeAgents();

}  // namespace msc::gym
