#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"
#include "cost/model/outcome.h"
#include "cost/quality/dataset.h"

namespace msc::gym {

/// Samples for the one input of `graph`, in the form that `form` says; `labels` may be empty,
/// `count` 0 for all. UserError as LoadDataset, and for graphs with several inputs.
[[nodiscard]] cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                                        const std::string& images, const std::string& labels,
                                        std::int64_t count);

/// How far the outputs of `after` are from those of `before` on all samples. UserError where a
/// graph does not compile or run.
[[nodiscard]] cost::Quality CompareOn(const cost::Dataset& test, const Graph& before,
                                      const Graph& after, CalibrationRun run,
                                      const TargetRegistry& targets);

}  // namespace msc::gym
