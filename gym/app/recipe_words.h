#pragma once

#include <string>
#include <string_view>

#include "compiler/strategy/strategy.h"
#include "envs/distill/recipe_choices.h"
#include "gym/core/problem.h"
#include "gym/report/report.h"

namespace msc::gym {

/// The choice of no epochs in words.
inline constexpr std::string_view kNotTrained = "not trained";

/// A decision about a recipe as people call it: "epochs" between "1" and "8" is "training epochs"
/// between "1 epoch" and "8 epochs". Others are as they were. `words` is how the env calls choices.
[[nodiscard]] Decision InWords(const Decision& decision, envs::RecipeWords words);

/// "trained for 3 epochs at rate 0.001"; empty where there is no training.
[[nodiscard]] std::string TrainText(const TrainPlan& plan);

/// Says in words what recipes a joint search decided between, and which of its decisions have no
/// effect since `best`, the winner's strategy (nullptr: there is none), is not trained.
void TellTraining(const Strategy* best, ReportInput& input);

}  // namespace msc::gym
