#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/pipeline/quantize.h"

namespace msc {

/// Applies SmoothQuant to every link of FindRescaleLinks and returns what was done. Alpha is the
/// one of 0, 0.1 .. 1 with which the layers that read the value come closest, on rows of their
/// inputs over the samples, to what they compute in f32; or none, if none is better. Outputs in f32
/// do not change in any bit.
/// Source: Xiao et al. 2022 (arXiv 2211.10438) section 4.
[[nodiscard]] std::vector<SmoothedValue> SmoothLayers(const SampleSource& samples,
                                                      const QuantizeOptions& options,
                                                      const CalibrationRun& run,
                                                      const TargetRegistry& registry, Graph& graph,
                                                      const std::function<void(double)>& progress);

}  // namespace msc
