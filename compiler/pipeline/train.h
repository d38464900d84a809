#pragma once

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// UserError where a canonical graph cannot be trained after: it has no single f32 input of known
/// rank, or an operator that nothing is trained through. SystemError, saying what to install, where
/// there is no trainer.
void CheckTrainable(const Graph& canonical);

/// The strategy with its weights trained, as strategy.fit.train says, to compute on `samples` what
/// `canonical` does; the steps of int8 layers are trained, too. Other settings are those of
/// TrainSettings. Layers in bf16 are trained as f32. `strategy` has epochs, and what samples decide
/// otherwise (FitStrategy). All samples are in memory at once. Deterministic: equal arguments give
/// equal bits on one machine. A Failure (kWrongOutput) where the loss stops being finite. Else as
/// CheckTrainable, MakeStudent and Train.
[[nodiscard]] Result<Strategy> TrainStrategy(const Graph& canonical, const Strategy& strategy,
                                             const SampleSource& samples, const CalibrationRun& run,
                                             const TargetRegistry& registry);

}  // namespace msc
