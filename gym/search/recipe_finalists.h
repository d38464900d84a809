#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/compress/distill/trainer.h"
#include "cost/model/outcome.h"
#include "gym/search/findings.h"
#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Number of trainings per finalist.
inline constexpr std::size_t kRecipeRepeats = 3;

/// Callbacks to retrain the finalists of a search of training recipes.
struct Retraining {
  std::function<TrainSettings(const Assignment&)> recipe_of;  ///< returns a trial's recipe
  /// Trains and judges; returns nothing if stopped. `heard` receives the completed fraction of the
  /// training. The outcome holds quality metrics only.
  std::function<std::optional<Result<cost::Outcome>>(const TrainSettings&,
                                                     const std::function<void(double)>& heard)>
      train;
  std::function<void(const std::string&)> say;  ///< receives progress texts
  std::function<void(const Findings&)> keep;    ///< receives the findings after each training
  /// Returns whether the time left is too short for a training of so many seconds; may be empty.
  std::function<bool(double seconds)> late = {};
};

/// Trains up to `count` of the best feasible trials kRecipeRepeats times each, with the seeds that
/// follow their own. It trains all of them once, then all again, so that a drift of conditions
/// affects all alike. Trainings in `findings.recipes` are reused. Fills `recipes`, and at the end
/// `best` or `nearest`. If time runs out, these are chosen from the finished trainings and
/// `shortened` says so. Returns false if stopped.
[[nodiscard]] bool TrainFinalists(const Objective& objective, const std::vector<Trial>& trials,
                                  std::size_t count, const Retraining& how, Findings& findings);

/// Returns whether every finalist has kRecipeRepeats trainings.
[[nodiscard]] bool AllTrained(const Findings& findings);
/// Returns the number of failed trainings.
[[nodiscard]] std::size_t FailuresOf(const RecipeFinalist& recipe);
/// Returns the means over the trainings, or a failure if any training failed, since a user trains
/// with a single seed.
[[nodiscard]] Evaluation EvaluationOf(const RecipeFinalist& recipe);

/// Returns "0.00312 +- 0.0004", with one character for the sign; only the mean if there is no
/// margin, and "-" if there is no mean.
[[nodiscard]] std::string MeanText(const RecipeFinalist& recipe, const std::string& metric);
/// Returns "on samples that no trial saw: accuracy_drop 0.3 +- 0.1, distill_loss 0.0031 +- 0.0004",
/// and the limits that are missed by more than the margin. Empty if held-out samples were not
/// judged.
[[nodiscard]] std::string HeldOutText(const Objective& objective, const RecipeFinalist& recipe);

}  // namespace msc::gym
