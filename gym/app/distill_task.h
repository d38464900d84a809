#pragma once

#include <memory>

#include "compiler/ir/graph.h"
#include "compiler/targets/target.h"
#include "envs/distill/distill_env.h"
#include "gym/app/search_config.h"

namespace msc::gym {

/// The student that the config's `distill` describes, with the calibration samples to learn from
/// and the quality samples to be judged on. `graph` is canonical. UserError where the config names
/// no student or no samples, and as LoadStrategy, MakeStudent and LoadDataset.
[[nodiscard]] std::shared_ptr<const envs::DistillTask> MakeDistillTask(
    const SearchConfig& config, const Graph& graph, const TargetRegistry& targets);

}  // namespace msc::gym
