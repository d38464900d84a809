#include "gym/search/tasks/distill.h"

#include <algorithm>

#include "cost/model/loss.h"
#include "envs/distill/distill_env.h"
#include "gym/report/report.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"
#include "gym/search/recipe.h"
#include "gym/search/record.h"
#include "gym/search/report/recipe.h"
#include "gym/search/training_task.h"

namespace msc::gym {

DistillTask::DistillTask()
    : SearchTask({.id = "Distill-v0",
                  .summary = "the recipe for training a compressed model to imitate the original; "
                             "trained and measured"},
                 "distill") {}

void DistillTask::SetDefaults(SearchConfig& config) const {
  // The default objective is for searches that measure latency.
  if (config.objective.minimize == ObjectiveConfig().minimize) {
    config.objective.minimize = {std::string(cost::kDistillLoss), std::string(envs::kTrainSteps)};
  }
}

ProblemFactory DistillTask::Prepare(const Preparation& preparation) const {
  const Prepared& prepared = preparation.prepared;
  return [task = MakeTrainingTask(preparation.config, *prepared.graph, prepared.targets)](
             const envs::ModelContext& /*model*/) { return envs::MakeDistillProblem(task); };
}

Objective DistillTask::ForReward(const Objective& objective) const {
  Objective reward = objective;
  // These are in thousands, while losses are below 1.
  std::erase(reward.minimize, envs::kTrainSteps);
  return reward;
}

SearchOutcome DistillTask::Run(const SearchConfig& config, const SearchOptions& options,
                               const SearchHost& host) const {
  return SearchRecipe(config, options, host);
}

void DistillTask::AddToReport(const SearchSetup& setup, const Findings& findings,
                              const RunPaths& paths, ReportInput& input) const {
  const auto samples =
      std::find_if(input.machine.begin(), input.machine.end(),
                   [](const ReportFact& fact) { return fact.name == "samples per trial"; });
  input.machine.insert(
      samples, {"training samples", std::to_string(setup.config.section<DistillConfig>().most())});
  TellRecipes(setup, findings, paths, input);
}

}  // namespace msc::gym
