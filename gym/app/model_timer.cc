#include "gym/app/model_timer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/latency.h"
#include "gym/app/bench_rows.h"

namespace msc::gym {

std::vector<Tensor> InputsToTime(const Graph& graph, const SampleSource* samples) {
  if (samples != nullptr) {
    return InputsOfRows(LayoutOf(graph), samples->Read(0, BatchSize(graph, 1)));
  }
  const ShapeBindings batch = BatchBindings(graph, 1);
  for (const ValueId id : graph.inputs()) {
    const std::optional<Shape>& shape = graph.type(id).shape;
    const bool open = !shape || std::ranges::any_of(*shape, [&](const Dim& dim) {
      return !dim.known() && !batch.contains(dim.symbol());
    });
    if (open) {
      throw UserError("the model leaves dimensions of input '" + graph.value(id).name +
                      "' open: give samples, or the sizes with --shape");
    }
  }
  return RandomInputs(BoundInputs(graph, batch), 0);
}

ModelTimer::ModelTimer(const Graph& whole, std::vector<Tensor> inputs, const CalibrationRun& run,
                       const TargetRegistry& targets, std::int64_t max_ms)
    : run_(run),
      targets_(targets),
      max_ms_(max_ms),
      inputs_(std::move(inputs)),
      whole_(Build(whole)) {
  const std::vector<int> cores = AllowedCores();
  if (run.threads > std::ssize(cores)) {
    throw UserError("--threads is more than the " + std::to_string(cores.size()) +
                    " cores of this process");
  }
  UseThreads(run.threads);
  PinTo({cores.begin(), cores.begin() + run.threads});
}

Executable ModelTimer::Build(const Graph& graph) const {
  Strategy strategy;
  strategy.target = run_.target;
  Result<Executable> built =
      Compile(graph, strategy, targets_,
              {.threads = run_.threads, .bindings = BindingsFor(graph, inputs_)});
  if (!built.ok()) throw UserError("the model cannot be timed: " + built.failure().detail);
  return std::move(built.value());
}

cost::Latency ModelTimer::Measure(const Graph& changed) {
  Executable candidate = Build(changed);
  std::vector<Tensor> whole_outputs = whole_.Run(inputs_);
  std::vector<Tensor> outputs = candidate.Run(inputs_);
  cost::LatencyOptions options;
  options.max_ms = max_ms_;
  options.settle_calls = 1;
  return cost::MeasureLatency([&] { whole_.RunInto(inputs_, whole_outputs); },
                              [&] { candidate.RunInto(inputs_, outputs); }, options);
}

}  // namespace msc::gym
