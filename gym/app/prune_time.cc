#include "gym/app/prune_time.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/latency.h"
#include "gym/app/bench_rows.h"

namespace msc::gym {

ModelTimer::ModelTimer(const Graph& whole, const CalibrationRun& run, const TargetRegistry& targets,
                       std::int64_t max_ms)
    : run_(run),
      targets_(targets),
      max_ms_(max_ms),
      bindings_(BatchBindings(whole, 1)),
      inputs_(RandomInputs(BoundInputs(whole, bindings_), 0)),
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
      Compile(graph, strategy, targets_, {.threads = run_.threads, .bindings = bindings_});
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
