#pragma once

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// Checks that a canonical graph can be trained. UserError if it does not have a single f32 input
/// of known rank, or has an operator that cannot be trained through. SystemError if there is no
/// trainer, which says what to install.
void CheckTrainable(const Graph& canonical);

/// Returns the strategy with its weights trained, as strategy.fit.train says, to compute on
/// `samples` what `canonical` computes. Steps of int8 layers are trained, too. Layers in bf16 are
/// trained as f32. `forms` say what the outputs mean (TrainJob). Other settings have the defaults
/// of TrainSettings. `strategy` must have epochs, and everything else that samples decide
/// (FitStrategy). All samples are in memory at once. Deterministic: equal arguments give equal bits
/// on one machine. Returns a Failure (kWrongOutput) if the loss is no longer finite. Other errors
/// as CheckTrainable, MakeStudent and Train.
[[nodiscard]] Result<Strategy> TrainStrategy(const Graph& canonical, const Strategy& strategy,
                                             const SampleSource& samples, const OutputForms& forms,
                                             const CalibrationRun& run,
                                             const TargetRegistry& registry);

}  // namespace msc
