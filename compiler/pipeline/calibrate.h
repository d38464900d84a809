#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/graph.h"
#include "compiler/targets/target.h"

namespace msc {

struct CalibrationRun {
  std::string target = "reference";  ///< who computes the activations, in f32
  int threads = 1;
  std::int64_t batch = 32;
};

/// Runs the canonical graph in f32 over `samples` (one tensor per graph input, outermost dimension
/// = samples) and observes every tensor that an 8-bit layer may read or write. The last samples
/// that do not fill a batch are left out unless there is no other. `progress` hears the share done,
/// in [0, 1]. UserError where the samples do not fit the model.
[[nodiscard]] Calibrator ObserveActivations(const Graph& canonical, std::span<const Tensor> samples,
                                            const CalibrationRun& run,
                                            const TargetRegistry& registry,
                                            const std::function<void(double)>& progress = {});

}  // namespace msc
