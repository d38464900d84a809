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
#include "cost/model/outcome.h"
#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// How near a student with these values is to the teacher, on samples that it was not trained on.
/// Nothing where `stop` says true meanwhile. UserError where it computes what is not finite.
using JudgeStudent = std::function<std::optional<cost::Quality>(const TrainResult& trained,
                                                                const std::function<bool()>& stop)>;

/// What recipes train, and how what they made of it is judged.
struct DistillTask {
  TrainProgram student;
  TrainProgram teacher;
  Tensor inputs;                     ///< f32 [N, ...]
  std::vector<std::int32_t> labels;  ///< N, or none: no recipe looks at labels then
  TrainSettings settings;            ///< what recipes leave open: batch, optimizer, threads, seed
  JudgeStudent judge;
  std::string hash;  ///< of all that, and of what the judge looks at
};

inline constexpr std::string_view kTrainSteps = "train_steps";  ///< of the optimizer

/// A training that is wanted.
struct TrainOrder {
  TrainSettings settings;
  JudgeStudent judge;
};

/// What became of a training.
struct Trained {
  Result<cost::Quality> quality;   ///< a failure where the loss stopped being finite
  std::vector<TrainEpoch> epochs;  ///< none then
};

/// Trains the student of `task` as ordered, and has it judged. Nothing where `stop` says true
/// meanwhile. `heard`, where given, is told how far it is.
[[nodiscard]] std::optional<Trained> TrainAndJudge(
    const DistillTask& task, const TrainOrder& order, const std::function<bool()>& stop,
    const std::function<void(const TrainProgress&)>& heard = {});

/// "Distill-v0": the recipe by which a compressed model, the student, is trained to do as the whole
/// one did.
///
/// Decisions: epochs, rate, temperature, weight of the outputs' squared distance (lp) beside their
/// divergence, schedule of the rate, and with labels the weight of the cross entropy (hard), out of
/// short lists. Metrics: distill_loss, accuracy_drop where candidates are judged with labels, and
/// train_steps, which is known beforehand. An
/// assignment means its TrainSettings. Anchors: "short", one epoch, and "long". A training whose
/// loss stops being finite is a failure. Features: log2 of the number of choices, the decades that
/// their values span (0 for names), the share of the longest training's steps that the decision can
/// save, and flags of what it sets: how long, how fast (rate, schedule), or what is learned (the
/// rest). The reward of the last step is -distill_loss.
/// Deterministic on one machine, as Train is. UserError if the context has no task; SystemError,
/// saying what to install, where there is no trainer.
[[nodiscard]] std::unique_ptr<gym::Env> MakeDistillEnv(const EnvContext& context);

}  // namespace msc::envs
