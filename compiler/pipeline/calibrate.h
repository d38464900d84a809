#pragma once

#include <functional>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"

namespace msc {

/// Collects the values of every tensor that an 8-bit layer may read or write, by ObserveValues;
/// errors as there. Runs fewer samples at a time than `run.batch` if values are large
/// (FittingBatch).
[[nodiscard]] Calibrator ObserveActivations(const Graph& canonical, const SampleSource& samples,
                                            const CalibrationRun& run,
                                            const TargetRegistry& registry,
                                            const std::function<void(double)>& progress = {});

}  // namespace msc
