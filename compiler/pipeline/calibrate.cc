#include "compiler/pipeline/calibrate.h"

#include <vector>

#include "compiler/base/parallel.h"
#include "compiler/pipeline/fitting_batch.h"

namespace msc {

Calibrator ObserveActivations(const Graph& canonical, const SampleSource& samples,
                              const CalibrationRun& run, const TargetRegistry& registry,
                              const std::function<void(double)>& progress) {
  Calibrator calibrator(canonical);
  const std::vector<std::string>& names = calibrator.tensors();
  const auto observe = [&](std::int64_t /*first*/, std::span<const Tensor> values) {
    // Each name has a histogram of its own.
    ForEachOnThreads(run.Cores(), names.size(), [&](std::size_t i) {
      calibrator.Observe(names[i], values[i].Values<float>());
    });
  };
  CalibrationRun fitting = run;
  fitting.batch = FittingBatch(canonical, names, samples, run.batch);
  ObserveValues(canonical, names, samples, fitting, registry, observe, progress);
  return calibrator;
}

}  // namespace msc
