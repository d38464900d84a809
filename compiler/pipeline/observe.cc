#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

std::int64_t CountSamples(const Graph& graph, const SampleSource& samples) {
  if (samples.inputs() != graph.inputs().size()) {
    throw UserError("the model has " + std::to_string(graph.inputs().size()) +
                    " inputs but calibration data has " + std::to_string(samples.inputs()));
  }
  if (samples.count() == 0) throw UserError("there is no calibration sample");
  return samples.count();
}

/// Reads samples [first, first + count). UserError if one is not finite.
std::vector<Tensor> ReadFinite(const Graph& graph, const SampleSource& samples, std::int64_t first,
                               std::int64_t count) {
  std::vector<Tensor> read = samples.Read(first, count);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i].dtype() != DType::kF32) continue;
    const auto values = read[i].Values<float>();
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [](float value) { return !std::isfinite(value); });
    if (bad == values.end()) continue;
    const std::int64_t sample = first + (bad - values.begin()) / (read[i].size() / count);
    throw UserError("calibration sample " + std::to_string(sample) + " of input '" +
                    graph.value(graph.inputs()[i]).name + "' holds a value that is not finite");
  }
  return read;
}

/// Returns the part of the graph that computes `values`.
Graph PartFor(const Graph& graph, const std::vector<std::string>& values) {
  Graph part = graph;
  std::vector<ValueId> outputs;
  for (const std::string& name : values) {
    const ValueId id = part.FindValue(name);
    if (id == kNoValue) throw UserError("the graph has no value '" + name + "'");
    outputs.push_back(id);
  }
  part.SetOutputs(outputs);
  RemoveDeadCode(part);
  return part;
}

Executable CompileFor(const Graph& graph, const std::vector<std::string>& values,
                      const CalibrationRun& run, const TargetRegistry& registry,
                      std::int64_t batch) {
  Strategy f32;
  f32.target = run.target;
  Result<Executable> built =
      Compile(PartFor(graph, values), f32, registry,
              {.threads = run.threads, .bindings = BatchBindings(graph, batch)});
  if (!built.ok()) {
    throw UserError("the model does not compile for calibration: " + built.failure().detail);
  }
  return std::move(built).value();
}

}  // namespace

void ObserveValues(const Graph& canonical, std::span<const std::string> values,
                   const SampleSource& samples, const CalibrationRun& run,
                   const TargetRegistry& registry, const BatchVisitor& visit,
                   const std::function<void(double)>& progress) {
  const std::int64_t count = CountSamples(canonical, samples);
  const std::optional<std::int64_t> fixed = FixedBatch(canonical);
  const std::int64_t batch = fixed.value_or(EvenBatch(count, run.batch));
  if (batch > count) {
    throw UserError("the model takes " + std::to_string(batch) + " samples at a time; only " +
                    std::to_string(count) + " are given for calibration");
  }
  // For each value: whether it is a graph input, and its index among those or among the
  // executable's outputs.
  std::vector<std::string> computed;
  std::vector<std::pair<bool, std::size_t>> places;
  const auto& inputs = canonical.inputs();
  for (const std::string& name : values) {
    const auto input = std::find(inputs.begin(), inputs.end(), canonical.FindValue(name));
    if (input != inputs.end()) {
      places.emplace_back(true, input - inputs.begin());
      continue;
    }
    const auto known = std::find(computed.begin(), computed.end(), name);
    places.emplace_back(false, known - computed.begin());
    if (known == computed.end()) computed.push_back(name);
  }
  std::optional<Executable> executable;
  std::int64_t size = 0;  // of the current batch
  std::int64_t first = 0;
  for (; first + (fixed ? batch : 1) <= count; first += size) {
    const std::int64_t next = std::min(batch, count - first);
    if (!computed.empty() && next != size) {
      executable.reset();  // free it before building the next one
      executable.emplace(CompileFor(canonical, computed, run, registry, next));
    }
    size = next;
    const std::vector<Tensor> given = ReadFinite(canonical, samples, first, size);
    const std::vector<Tensor> made = executable ? executable->Run(given) : std::vector<Tensor>();
    std::vector<Tensor> seen;
    for (const auto& [is_input, index] : places) {
      seen.push_back(is_input ? given.at(index) : made.at(index));
    }
    visit(first, seen);
    if (progress) progress(static_cast<double>(first + size) / static_cast<double>(count));
  }
  // Samples that do not fill a batch are not run, but they must be finite as well.
  if (first < count) (void)ReadFinite(canonical, samples, first, count - first);
}

}  // namespace msc
