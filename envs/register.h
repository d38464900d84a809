#pragma once

#include "gym/core/env_registry.h"

namespace msc::envs {

/// Envs that need no model.
using EnvRegistry = gym::EnvRegistry<>;

/// Adds every env of envs/toy. Envs over a model belong to tasks (gym/search/tasks/list.h).
void RegisterToys(EnvRegistry& registry);

}  // namespace msc::envs
