#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "cost/quality/guard.h"
#include "gym/app/calibration_judge.h"
#include "gym/app/float_ends.h"
#include "gym/search/float_layers.h"

namespace msc::gym {

/// Input of KeepFloat. All members outlive the call.
struct KeepFloatInput {
  const CalibrationJudge* judge = nullptr;
  const Strategy* chosen = nullptr;  ///< the quantized model, with all layers quantized
  /// The same with weights rounded to the nearest, whose fitted weights are those of f32 layers.
  /// The other layers keep the weights of `chosen`, although they were fitted to the errors of
  /// those that are in f32 now: fitting them again for every choice of layers would take too long.
  const Strategy* plain = nullptr;
  BothEnds ends;         ///< of the model
  double most_work = 1;  ///< share of the layers' work that may stay in f32
  cost::Guard guard;
  int threads = 1;  ///< that run the models
};

/// Layers that stay in f32, and the samples on which that was decided.
struct KeptFloat {
  std::set<std::string> ends = {};  ///< cheap first and last layers, with which the loss is lower
  FloatLayers layers = {};          ///< others, without which it would be too high
  std::size_t quantizable = 0;      ///< layers in all
  Judged before = {};               ///< with all layers quantized
  Judged with_ends = {};            ///< with `ends` in f32
  std::int64_t samples = 0;
  double work = 0;  ///< share of the layers' work that stays in f32
  /// Returns the names of all layers that stay in f32.
  [[nodiscard]] std::set<std::string> Names() const;
};

/// Returns which layers stay in f32: ends of the model where that pays (ChooseFloatEnds), and as
/// many others as bring all losses of the guard, on calibration samples, to three quarters of their
/// bounds, or as `most_work` admits. Shows its progress; ranks layers for at most 45 seconds of CPU
/// time a thread.
[[nodiscard]] KeptFloat KeepFloat(const KeepFloatInput& input);

/// Returns which layers stay in f32 and why: a line for the ends and one for others. Empty if all
/// are quantized.
[[nodiscard]] std::vector<std::string> KeptLines(const KeptFloat& kept);

}  // namespace msc::gym
