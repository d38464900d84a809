#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "compiler/runtime/executable.h"
#include "compiler/targets/target.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// Times changed models against their original in this process, one sample per call. Pins the
/// process to as many cores as `run` has threads. UserError if the target rejects a model or if
/// there are fewer cores.
class ModelTimer {
 public:
  ModelTimer(const Graph& whole, const CalibrationRun& run, const TargetRegistry& targets,
             std::int64_t max_ms);
  [[nodiscard]] cost::Latency Measure(const Graph& changed);

 private:
  [[nodiscard]] Executable Build(const Graph& graph) const;

  CalibrationRun run_;
  const TargetRegistry& targets_;
  std::int64_t max_ms_;
  ShapeBindings bindings_;
  std::vector<Tensor> inputs_;
  Executable whole_;
};

}  // namespace msc::gym
