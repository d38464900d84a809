#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
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

[[noreturn]] void RejectFew(std::int64_t batch, std::int64_t given, bool of_one_size) {
  throw UserError("the model takes " + std::to_string(batch) + " samples at a time; only " +
                  std::to_string(given) + " are given for calibration" +
                  (of_one_size ? " in one size" : ""));
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

/// The values to observe: inputs of the graph, and values that an executable computes.
class Watched {
 public:
  Watched(const Graph& graph, std::span<const std::string> values) {
    const auto& inputs = graph.inputs();
    for (const std::string& name : values) {
      const auto input = std::find(inputs.begin(), inputs.end(), graph.FindValue(name));
      if (input != inputs.end()) {
        places_.emplace_back(true, input - inputs.begin());
        continue;
      }
      const auto known = std::find(computed_.begin(), computed_.end(), name);
      places_.emplace_back(false, known - computed_.begin());
      if (known == computed_.end()) computed_.push_back(name);
    }
    is_last_.resize(places_.size());
    std::set<std::size_t> later;
    for (std::size_t i = places_.size(); i-- > 0;) {
      is_last_[i] = !places_[i].first && later.insert(places_[i].second).second;
    }
  }
  /// Returns the names of the values to compute, each once.
  [[nodiscard]] const std::vector<std::string>& computed() const { return computed_; }
  /// Returns all values, from the inputs and from the computed ones.
  [[nodiscard]] std::vector<Tensor> Seen(const std::vector<Tensor>& given,
                                         std::vector<Tensor> made) const {
    std::vector<Tensor> seen;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto [is_input, index] = places_[i];
      if (is_last_[i]) {
        seen.push_back(std::move(made.at(index)));
      } else {
        seen.push_back(is_input ? given.at(index) : made.at(index));
      }
    }
    return seen;
  }

 private:
  std::vector<std::string> computed_;
  // For each value: whether it is an input, and its index among those or among computed_.
  std::vector<std::pair<bool, std::size_t>> places_;
  std::vector<bool> is_last_;  // of each: whether no later one is the same computed value
};

Executable CompileFor(const Graph& graph, const std::vector<std::string>& values,
                      const CalibrationRun& run, const TargetRegistry& registry,
                      std::span<const Tensor> inputs) {
  Strategy f32;
  f32.target = run.target;
  Result<Executable> built =
      Compile(PartFor(graph, values), f32, registry,
              {.threads = run.threads, .bindings = BindingsFor(graph, inputs)});
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
  const Watched watched(canonical, values);
  const SampleLayout layout = LayoutOf(canonical);
  const std::optional<std::int64_t> fixed = FixedBatch(canonical);
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = samples.GroupEnd(begin);
    const std::int64_t batch = fixed.value_or(EvenBatch(end - begin, run.batch));
    if (batch > end - begin) RejectFew(batch, end - begin, end - begin < count);
    std::optional<Executable> executable;
    std::int64_t size = 0;  // of the current batch
    std::int64_t first = begin;
    for (; first + (fixed ? batch : 1) <= end; first += size) {
      const std::int64_t next = std::min(batch, end - first);
      const std::vector<Tensor> given =
          InputsOfRows(layout, ReadFinite(canonical, samples, first, next));
      if (!watched.computed().empty() && next != size) {
        executable.reset();  // free it before building the next one
        executable.emplace(CompileFor(canonical, watched.computed(), run, registry, given));
      }
      size = next;
      visit(first,
            watched.Seen(given, executable ? executable->Run(given) : std::vector<Tensor>()));
      if (progress) progress(static_cast<double>(first + size) / static_cast<double>(count));
    }
    // Samples that do not fill a batch are not run, but they must be finite as well.
    if (first < end) (void)ReadFinite(canonical, samples, first, end - first);
    begin = end;
  }
}

}  // namespace msc
