#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/compress/distill/trainer.h"
#include "cost/model/outcome.h"
#include "gym/app/search_findings.h"
#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// How often every finalist is trained.
inline constexpr std::size_t kRecipeRepeats = 3;

/// What a search of recipes trains its finalists with.
struct Retraining {
  /// What a trial was trained by: JSON of TrainSettings.
  std::function<std::string(const Assignment&)> describe;
  /// Trains and judges; nothing if stopped. `heard` is told which share of the training is done.
  /// The outcome has no more than its qualities.
  std::function<std::optional<Result<cost::Outcome>>(const TrainSettings&,
                                                     const std::function<void(double)>& heard)>
      train;
  std::function<void(const std::string&)> say;  ///< hears how far it is
  std::function<void(const Findings&)> keep;    ///< is given what there is after each training
  /// Whether there is no time for a training of about so many seconds; may be empty.
  std::function<bool(double seconds)> late = {};
};

/// Trains the best trials that keep the limits, `count` at most, kRecipeRepeats times each with the
/// seeds that follow their own: all of them once, then all of them again, so that whatever changes
/// meanwhile meets all alike. Fills `recipes` of the findings, and `best` or `nearest` when all are
/// trained; repeats that are there already are not trained again. Where it is late before, these
/// are of those that were trained, and `shortened` says so. False if stopped.
[[nodiscard]] bool TrainFinalists(const Objective& objective, const std::vector<Trial>& trials,
                                  std::size_t count, const Retraining& how, Findings& findings);

/// Whether every finalist was trained as often as it should be.
[[nodiscard]] bool AllTrained(const Findings& findings);
/// How many of its trainings failed.
[[nodiscard]] std::size_t FailuresOf(const RecipeFinalist& recipe);
/// Its means; a failure where one of its trainings failed, since who trains by it has one seed.
[[nodiscard]] Evaluation EvaluationOf(const RecipeFinalist& recipe);

/// "0.00312 +- 0.0004", the sign as one character; a mean without a margin alone, and "-" where
/// there is none.
[[nodiscard]] std::string MeanText(const RecipeFinalist& recipe, const std::string& metric);
/// "on samples that no trial saw: accuracy_drop 0.3 +- 0.1, distill_loss 0.0031 +- 0.0004", and
/// which limits these miss by more than that; empty where none were told apart.
[[nodiscard]] std::string FreshText(const Objective& objective, const RecipeFinalist& recipe);

}  // namespace msc::gym
