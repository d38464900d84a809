#pragma once

#include <string_view>

#include "gym/core/agent.h"
#include "gym/core/registry.h"

namespace msc::agents {

using AgentRegistry = gym::Registry<gym::Agent, const gym::AgentSetup&>;

/// What an agent searches for.
enum class AgentAim {
  kAnswer,   ///< the feasible assignment with the least first objective
  kFront,    ///< the Pareto front of all objectives, and with one objective its best answer
  kCover,    ///< the best cover, for problems that declare regions
  kNothing,  ///< ignores results: a baseline, or the whole space in order
};

/// Adds every agent of this folder, one row each in register.cc.
void RegisterAll(AgentRegistry& registry);

/// Returns the aim of a registered agent. Throws InternalError if `name` is unknown.
[[nodiscard]] AgentAim AimOf(std::string_view name);

}  // namespace msc::agents
