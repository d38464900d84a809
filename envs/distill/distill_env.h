#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// What recipes train, and how what they made of it is judged.
struct DistillTask {
  TrainProgram student;
  TrainProgram teacher;
  Tensor inputs;                     ///< f32 [N, ...]
  std::vector<std::int32_t> labels;  ///< N, or none: no recipe looks at labels then
  TrainSettings settings;            ///< what recipes leave open: batch, optimizer, threads, seed
  /// distill_loss, and accuracy_drop where candidates are judged with labels, of a student with
  /// these values, on samples that it was not trained on.
  std::function<std::map<std::string, double>(const TrainResult&)> judge;
  std::string hash;  ///< of all that, and of what the judge looks at
};

inline constexpr std::string_view kTrainSteps = "train_steps";  ///< of the optimizer

/// "Distill-v0": the recipe by which a compressed model, the student, is trained to do as the whole
/// one did.
///
/// Decisions: epochs, rate, temperature, weight of the outputs' squared distance (lp) beside their
/// divergence, schedule of the rate, and with labels the weight of the cross entropy (hard), out of
/// short lists. Metrics: those of the task's judge, and train_steps, which is known beforehand. An
/// assignment means its TrainSettings. Anchors: "short", one epoch, and "long". A training whose
/// loss stops being finite is a failure. Features: log2 of the number of choices, the decades that
/// their values span (0 for names), the share of the longest training's steps that the decision can
/// save, and flags of what it sets: how long, how fast (rate, schedule), or what is learned (the
/// rest). The reward of the last step is -distill_loss.
/// Deterministic on one machine, as Train is. UserError if the context has no task; SystemError,
/// saying what to install, where there is no trainer.
[[nodiscard]] std::unique_ptr<gym::Env> MakeDistillEnv(const EnvContext& context);

}  // namespace msc::envs
