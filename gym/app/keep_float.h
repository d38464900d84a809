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
  /// The same with weights rounded to the nearest: other roundings fit a layer to the errors of
  /// those before it, and would have to be repeated for every choice of layers.
  const Strategy* plain = nullptr;
  BothEnds ends;  ///< of the model
  cost::Guard guard;
};

/// Layers that stay in f32, and the samples on which that was decided.
struct KeptFloat {
  std::set<std::string> ends = {};  ///< cheap first and last layers, with which the loss is lower
  FloatLayers layers = {};          ///< others, without which it would be too high
  std::size_t quantizable = 0;      ///< layers in all
  Judged before = {};               ///< with all layers quantized
  Judged with_ends = {};            ///< with `ends` in f32
  std::int64_t samples = 0;
  /// Returns the names of all layers that stay in f32.
  [[nodiscard]] std::set<std::string> Names() const;
};

/// Returns which layers stay in f32: ends of the model where that pays (ChooseFloatEnds), and as
/// many others as bring all losses of the guard, on calibration samples, to half their bounds.
/// Shows its progress; ranks layers for at most 90 seconds of CPU time.
[[nodiscard]] KeptFloat KeepFloat(const KeepFloatInput& input);

/// Returns which layers stay in f32 and why: a line for the ends and one for others. Empty if all
/// are quantized.
[[nodiscard]] std::vector<std::string> KeptLines(const KeptFloat& kept);

}  // namespace msc::gym
