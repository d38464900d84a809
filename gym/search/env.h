#pragma once

#include <memory>

#include "envs/common/model_context.h"
#include "gym/core/env.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Returns whether energy is an objective or constraint, and therefore measured.
[[nodiscard]] bool NamesEnergy(const SearchConfig& config);
/// Returns the context of a prepared search's problem. `evaluator` may be nullptr if the task is
/// not measured; it outlives the problem.
[[nodiscard]] envs::ModelContext ContextOf(const SearchConfig& config, const Prepared& prepared,
                                           cost::Evaluator* evaluator);
/// Makes the env of a task from its problem. Rewards follow the config's objective.
[[nodiscard]] std::unique_ptr<Env> MakeTaskEnv(const SearchTask& task, const SearchConfig& config,
                                               std::unique_ptr<SearchProblem> problem);

}  // namespace msc::gym
