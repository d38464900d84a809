#include "compiler/pipeline/calibrate.h"

#include <algorithm>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

std::int64_t CountSamples(const Graph& graph, std::span<const Tensor> samples) {
  if (samples.size() != graph.inputs().size()) {
    throw UserError("the model has " + std::to_string(graph.inputs().size()) +
                    " inputs but calibration data has " + std::to_string(samples.size()));
  }
  std::int64_t count = samples[0].dims().empty() ? 0 : samples[0].dims()[0];
  for (const Tensor& tensor : samples) {
    if (tensor.dims().empty() || tensor.dims()[0] != count) {
      throw UserError("calibration inputs differ in their number of samples");
    }
  }
  if (count == 0) throw UserError("there is no calibration sample");
  return count;
}

}  // namespace

Calibrator ObserveActivations(const Graph& canonical, std::span<const Tensor> samples,
                              const CalibrationRun& run, const TargetRegistry& registry,
                              const std::function<void(double)>& progress) {
  const std::int64_t count = CountSamples(canonical, samples);
  const std::int64_t batch = BatchSize(canonical, std::min(run.batch, count));
  if (batch > count) {
    throw UserError("the model takes " + std::to_string(batch) + " samples at a time; only " +
                    std::to_string(count) + " are given for calibration");
  }
  Calibrator calibrator(canonical);
  const std::vector<std::string>& names = calibrator.tensors();
  const Graph observed = WithOutputs(canonical, names);
  std::vector<std::size_t> positions;  // of each observed value among the outputs
  for (const std::string& name : names) {
    const auto& outputs = observed.outputs();
    const auto at = std::find(outputs.begin(), outputs.end(), observed.FindValue(name));
    Check(at != outputs.end(), "an observed value is an output");
    positions.push_back(static_cast<std::size_t>(at - outputs.begin()));
  }

  Strategy f32;
  f32.target = run.target;
  const CompileOptions options{.threads = run.threads, .bindings = BatchBindings(canonical, batch)};
  Result<Executable> executable = Compile(observed, f32, registry, options);
  if (!executable.ok()) {
    throw UserError("the model does not compile for calibration: " + executable.failure().detail);
  }
  for (std::int64_t first = 0; first + batch <= count; first += batch) {
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : samples) inputs.push_back(Rows(tensor, first, batch));
    const std::vector<Tensor> outputs = executable.value().Run(inputs);
    for (std::size_t i = 0; i < names.size(); ++i) {
      calibrator.Observe(names[i], outputs.at(positions[i]).Values<float>());
    }
    if (progress) progress(static_cast<double>(first + batch) / static_cast<double>(count));
  }
  return calibrator;
}

}  // namespace msc
