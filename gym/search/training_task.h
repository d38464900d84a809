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
#include "gym/search/config.h"

namespace msc::gym {

/// Builds the student that the config's `distill` describes, with calibration samples to train on
/// and quality samples to be judged on. `graph` is canonical. UserError if the config names no
/// student or no samples, and as LoadStrategy, MakeStudent and LoadDataset.
[[nodiscard]] std::shared_ptr<const envs::TrainingTask> MakeTrainingTask(
    const SearchConfig& config, const Graph& graph, const TargetRegistry& targets);

/// Samples that judge the finalists of a search of training recipes.
struct FinalSamples {
  std::int64_t from = 0;  ///< index of the first of them among the samples of quality.data
  std::int64_t count = 0;
  std::string hash;  ///< of the samples and of the student
  /// No trial used the samples from this index on (held out); 0 = none are reported separately.
  std::int64_t held_out_from = 0;
  std::vector<std::string> warnings;  ///< for a person
  envs::JudgeStudent judge;           ///< the first call also computes the teacher's outputs
  /// Returns the result of the last `judge` on the held-out samples; nothing if there are none.
  std::function<std::optional<cost::Quality>()> held_out;
};

/// Loads the samples as quality.final_samples and quality.finalists of the config say. Trials have
/// used the first quality.samples. UserError as PlanFinals and LoadDataset.
[[nodiscard]] FinalSamples MakeFinalSamples(const SearchConfig& config, const Graph& graph,
                                            const envs::TrainingTask& task);

}  // namespace msc::gym
