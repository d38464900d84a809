#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/pipeline/quantize.h"

namespace msc {

/// Input of RoundWeights.
struct RoundingRun {
  const SampleSource& samples;
  const QuantizeOptions& options;
  const CalibrationRun& run;
  const TargetRegistry& registry;
  const std::map<std::string, TensorScale>& scales;  ///< scales of all activations
};

/// Gives a grid to every layer of `plan` that is int8, or f32 with quantized weights, and puts the
/// constants that belong to the grids into `graph`. Enters errors into the layers' `rows`. This is
/// the part of QuantizeModel after calibration.
void RoundWeights(const RoundingRun& rounding, QuantizePlan& plan, Graph& graph,
                  std::vector<QuantizedLayer>& rows, const std::function<void(double)>& progress);

/// Returns about how many operations on numbers it takes to round the weights of all layers by
/// GPTQ, apart from runs of the model.
[[nodiscard]] double WorkOfGptq(const Graph& canonical);

}  // namespace msc
