#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/targets/target.h"
#include "cost/model/outcome.h"
#include "envs/distill/distill_env.h"
#include "gym/app/search_config.h"

namespace msc::gym {

/// The student that the config's `distill` describes, with the calibration samples to learn from
/// and the quality samples to be judged on. `graph` is canonical. UserError where the config names
/// no student or no samples, and as LoadStrategy, MakeStudent and LoadDataset.
[[nodiscard]] std::shared_ptr<const envs::DistillTask> MakeDistillTask(
    const SearchConfig& config, const Graph& graph, const TargetRegistry& targets);

/// What the finalists of a search of recipes are judged on.
struct FinalSamples {
  std::int64_t from = 0;  ///< the first of them among those of the config's quality.data
  std::int64_t count = 0;
  std::string hash;                   ///< of the samples and of what is trained
  std::int64_t fresh_from = 0;        ///< no trial saw those from this one on; 0 = none told apart
  std::vector<std::string> warnings;  ///< about them, for a person
  envs::JudgeStudent judge;  ///< its first call takes longer: the teacher computes them all
  /// What the last call of `judge` found on the fresh ones; none where none are told apart.
  std::function<std::optional<cost::Quality>()> fresh;
};

/// Reads them, as the config's quality.final_samples and quality.finalists ask for: trials have
/// seen the first quality.samples. UserError as PlanFinals and LoadDataset.
[[nodiscard]] FinalSamples MakeFinalSamples(const SearchConfig& config, const Graph& graph,
                                            const envs::DistillTask& task);

}  // namespace msc::gym
