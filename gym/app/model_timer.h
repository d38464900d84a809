#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/runtime/executable.h"
#include "compiler/targets/target.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// Returns the inputs of one call: the first of `samples`, or random values if there are none.
/// UserError if there are none and the model leaves more dimensions open than its batch, because
/// its time depends on them.
[[nodiscard]] std::vector<Tensor> InputsToTime(const Graph& graph, const SampleSource* samples);

/// Times changed models against their original in this process. Pins the process to as many cores
/// as `run` has threads. UserError if the target rejects a model or if there are fewer cores.
class ModelTimer {
 public:
  /// `inputs`: those of every call.
  ModelTimer(const Graph& whole, std::vector<Tensor> inputs, const CalibrationRun& run,
             const TargetRegistry& targets, std::int64_t max_ms);
  /// `changed` may hold Q/DQ and Cast nodes. Its inputs are those of the original.
  [[nodiscard]] cost::Latency Measure(const Graph& changed);

 private:
  [[nodiscard]] Executable Build(const Graph& graph) const;

  CalibrationRun run_;
  const TargetRegistry& targets_;
  std::int64_t max_ms_;
  std::vector<Tensor> inputs_;
  Executable whole_;
};

}  // namespace msc::gym
