#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/pipeline/quantize.h"

namespace msc {

/// What weights are rounded with.
struct RoundingRun {
  const SampleSource& samples;
  const QuantizeOptions& options;
  const CalibrationRun& run;
  const TargetRegistry& registry;
  const std::map<std::string, TensorScale>& scales;  ///< of all activations
};

/// Gives every layer of `plan` that is int8, or f32 while activations are f32, its grid, and
/// `graph` the constants that go with it; the layers' rows in `rows` hear of errors and bits. The
/// part of QuantizeModel behind calibration.
void RoundWeights(const RoundingRun& rounding, QuantizePlan& plan, Graph& graph,
                  std::vector<QuantizedLayer>& rows, const std::function<void(double)>& progress);

}  // namespace msc
