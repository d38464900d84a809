#pragma once

#include <string>
#include <string_view>

#include "compiler/strategy/strategy.h"
#include "envs/distill/recipe_choices.h"
#include "gym/core/problem.h"
#include "gym/report/report.h"

namespace msc::gym {

/// The choice of no training, in words.
inline constexpr std::string_view kNotTrained = "not trained";

/// Returns a decision about a recipe in plain words: "epochs" between "1" and "8" becomes "training
/// epochs" between "1 epoch" and "8 epochs". Returns other decisions unchanged. `words` tells how
/// the env names choices.
[[nodiscard]] Decision InWords(const Decision& decision, envs::RecipeWords words);

/// Returns "trained for 3 epochs at rate 0.001"; empty without training.
[[nodiscard]] std::string TrainText(const TrainPlan& plan);

/// Puts the recipe decisions of a joint search into words, and marks those without effect because
/// `best`, the winner's strategy (nullptr: none), is not trained.
void TellTraining(const Strategy* best, ReportInput& input);

}  // namespace msc::gym
