#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/quality/guard.h"
#include "gym/app/samples.h"
#include "gym/search/float_layers.h"

namespace msc::gym {

/// Input of KeepFloat. All members outlive the call.
struct KeepFloatInput {
  const Graph* graph = nullptr;      ///< canonical
  const Strategy* chosen = nullptr;  ///< the quantized model, with all layers quantized
  /// The same with weights rounded to the nearest: other roundings fit a layer to the errors of
  /// those before it, and would have to be repeated for every choice of layers.
  const Strategy* plain = nullptr;
  const SampleSource* samples = nullptr;
  CalibrationRun run;
  const TargetRegistry* targets = nullptr;
  std::map<std::string, OutputForm> outputs;  ///< forms that the user gave
  cost::Guard guard;
};

/// Layers that stay in f32, and the samples on which that was decided.
struct KeptFloat {
  FloatLayers layers = {};
  std::size_t quantizable = 0;  ///< layers in all
  Judged before = {};           ///< with all layers quantized
  std::int64_t samples = 0;
};

/// Returns which layers stay in f32 so that, on calibration samples, no loss of the guard exceeds
/// half its bound. Shows its progress; ranks layers for at most a minute.
[[nodiscard]] KeptFloat KeepFloat(const KeepFloatInput& input);

/// Returns which layers stay in f32 and why, as one line; empty if all are quantized.
[[nodiscard]] std::string KeptText(const KeptFloat& kept);

}  // namespace msc::gym
