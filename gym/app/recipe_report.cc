#include "gym/app/recipe_report.h"

#include <string>
#include <string_view>

#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/app/recipe_words.h"
#include "gym/app/search_recipe.h"

namespace msc::gym {
namespace {

ReportAxis AxisOf(const std::string& metric, const ObjectiveConfig& objective) {
  ReportAxis axis{.metric = metric, .title = metric};
  if (metric == envs::kDistillLoss) {
    axis.title = "distillation loss";
    axis.unit = "nats";
  } else if (metric == envs::kTrainSteps) {
    axis.title = "training steps";
    axis.counts = true;
  } else if (metric == envs::kAccuracyDrop) {
    axis.title = "accuracy lost";
    axis.unit = "points";
  }
  const auto limit = objective.subject_to.find(metric);
  if (limit != objective.subject_to.end()) axis.limit = limit->second;
  return axis;
}

}  // namespace

void TellRecipes(const SearchSetup& setup, const RunPaths& paths, ReportInput& input) {
  const SearchConfig& config = setup.config;
  const std::vector<std::string>& minimize = config.objective.minimize;
  const std::string_view other =
      minimize.front() == envs::kTrainSteps ? envs::kDistillLoss : envs::kTrainSteps;
  input.subject = ReportSubject::kRecipe;
  input.latency = AxisOf(minimize.front(), config.objective);
  input.quality = AxisOf(minimize.size() > 1 ? minimize[1] : std::string(other), config.objective);
  for (Decision& decision : input.decisions) {
    decision = InWords(decision, envs::RecipeWords::kBare);
  }
  input.headline = {.constraint = ConstraintText(config.objective),
                    .unfinished = input.study.stop == StopReason::kInterrupted};
  if (!input.study.best) return;
  const Trial& best = input.study.trials[*input.study.best];
  input.winner = best.number;
  input.headline.configuration = "trial " + std::to_string(best.number);
  input.headline.constraint_met = true;
  const std::string drop(envs::kAccuracyDrop);
  const auto lost = best.evaluation.metrics.find(drop);
  const bool on_axis = input.latency.metric == drop || input.quality.metric == drop;
  if (lost != best.evaluation.metrics.end() && !on_axis) {
    input.headline.accuracy_drop = lost->second;
  }
  input.commands.push_back(
      {"train by the best, with the form of the samples", TrainCommand(config, paths)});
}

}  // namespace msc::gym
