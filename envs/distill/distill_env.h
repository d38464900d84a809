#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/compress/distill/trainer.h"
#include "cost/model/loss.h"
#include "cost/model/outcome.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// Compares a trained student with the teacher on samples that it was not trained on. Returns
/// nothing if `stop` returns true meanwhile. Throws UserError if the student computes values that
/// are not finite.
using JudgeStudent = std::function<std::optional<cost::Quality>(const TrainResult& trained,
                                                                const std::function<bool()>& stop)>;

/// A training task: student, teacher, samples, and the evaluation of the result.
struct TrainingTask {
  TrainProgram student;
  TrainProgram teacher;
  Tensor inputs;  ///< f32 [N, ...]
  /// One label per sample, or none: no loss term then uses labels.
  std::vector<std::int32_t> labels;
  TrainSettings settings;  ///< settings that recipes leave open: batch, optimizer, threads, seed
  JudgeStudent judge;
  OutputForms forms = {};  ///< of the teacher's outputs
  std::vector<std::string> losses = {std::string(cost::kDistillLoss)};  ///< names of those it gives
  std::vector<std::string> notes = {};  ///< what the labels of `judge` are taken for
  std::string hash;                     ///< hash of all that, and of the data that `judge` uses
};

inline constexpr std::string_view kTrainSteps = "train_steps";  ///< steps of the optimizer

/// Request for one training.
struct TrainOrder {
  TrainSettings settings;
  JudgeStudent judge;
};

/// Result of one training.
struct Trained {
  Result<cost::Quality> quality;        ///< a failure if the loss stopped being finite
  std::vector<TrainEpoch> epochs = {};  ///< empty after a failure
};

/// Trains the student of `task` as ordered and evaluates it. Returns nothing if `stop` returns true
/// meanwhile. Calls `heard`, if given, with the progress.
[[nodiscard]] std::optional<Trained> TrainAndJudge(
    const TrainingTask& task, const TrainOrder& order, const std::function<bool()>& stop,
    const std::function<void(const TrainProgress&)>& heard = {});

/// A problem whose assignments stand for recipes of a training.
class RecipeProblem : public gym::SearchProblem {
 public:
  /// Returns the recipe that the assignment stands for. Throws UserError as Describe does.
  [[nodiscard]] TrainSettings RecipeOf(const gym::Assignment& assignment) const;

 private:
  [[nodiscard]] virtual TrainSettings DoRecipeOf(const gym::Assignment& assignment) const = 0;
};

/// Makes the problem of "Distill-v0": the recipe by which a compressed model, the student, is
/// trained to compute what the uncompressed model, the teacher, computes.
///
/// Decisions: epochs, learning rate, temperature, weight of the squared distance of the outputs
/// (lp) in addition to their divergence, schedule of the rate, and with labels the weight of the
/// cross entropy (hard), each out of a short list. Metrics: the losses of the task, and
/// train_steps, which is known in advance. Describe returns the TrainSettings. Anchors: "short", 1
/// epoch, and "long", 8 epochs. A training whose loss stops being finite is a failure.
///
/// Features: log2 of the number of choices; the decades that their values span (0 for names); the
/// share of the longest training's steps that the decision can save; and three flags: whether it
/// sets the length, the rate (rate, schedule) or the loss (the rest).
///
/// Deterministic on one machine, as Train is. `task` is not nullptr. Throws
/// SystemError, naming what to install, if there is no trainer.
[[nodiscard]] std::unique_ptr<RecipeProblem> MakeDistillProblem(
    std::shared_ptr<const TrainingTask> task);

}  // namespace msc::envs
