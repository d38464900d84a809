#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"

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

/// Samples from the first to before the second.
struct SampleRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Reads up to `most` batches of `size` samples from the begin of the range on, and returns the
/// inputs of each.
std::vector<std::vector<Tensor>> ReadBatches(const Graph& graph, const SampleSource& samples,
                                             const SampleRange& range, std::int64_t size,
                                             int most) {
  const SampleLayout layout = LayoutOf(graph);
  std::vector<std::vector<Tensor>> batches;
  for (std::int64_t at = range.begin; std::ssize(batches) < most && at + size <= range.end;
       at += size) {
    batches.push_back(InputsOfRows(layout, ReadFinite(graph, samples, at, size)));
  }
  return batches;
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
  /// Runs the executable, if there is one, on `calls` batches at a time, and returns the values of
  /// each.
  [[nodiscard]] std::vector<std::vector<Tensor>> SeenIn(
      const std::vector<std::vector<Tensor>>& given, const std::optional<Executable>& executable,
      int calls) const {
    std::vector<std::vector<Tensor>> seen(given.size());
    ForEachOnThreads(calls, given.size(), [&](std::size_t i) {
      seen[i] = Seen(given[i], executable ? executable->Run(given[i]) : std::vector<Tensor>());
    });
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
  return CompilePart(PartFor(graph, values), BindingsFor(graph, inputs), run, registry);
}

}  // namespace

int CalibrationRun::CallsAtOnce() const {
  constexpr int kMost = 8;
  return calls > 0 ? calls : std::clamp(CoreCount() / std::max(threads, 1), 1, kMost);
}

Executable CompilePart(const Graph& part, const ShapeBindings& bindings, const CalibrationRun& run,
                       const TargetRegistry& registry) {
  Strategy f32;
  f32.target = run.target;
  Result<Executable> built =
      Compile(part, f32, registry, {.threads = run.threads, .bindings = bindings});
  if (!built.ok()) {
    throw UserError("the model does not compile for calibration: " + built.failure().detail);
  }
  return std::move(built).value();
}

void ObserveValues(const Graph& canonical, std::span<const std::string> values,
                   const SampleSource& samples, const CalibrationRun& run,
                   const TargetRegistry& registry, const BatchVisitor& visit,
                   const std::function<void(double)>& progress) {
  const std::int64_t count = CountSamples(canonical, samples);
  const Watched watched(canonical, values);
  const std::optional<std::int64_t> fixed = FixedBatch(canonical);
  const int calls = run.CallsAtOnce();
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = samples.GroupEnd(begin);
    const std::int64_t batch = fixed.value_or(EvenBatch(end - begin, run.batch));
    if (batch > end - begin) RejectFew(batch, end - begin, end - begin < count);
    std::optional<Executable> executable;
    std::int64_t size = 0;  // of the current batches
    std::int64_t first = begin;
    while (first + (fixed ? batch : 1) <= end) {
      const std::int64_t next = std::min(batch, end - first);
      const std::vector<std::vector<Tensor>> given =
          ReadBatches(canonical, samples, {first, end}, next, calls);
      if (!watched.computed().empty() && next != size) {
        executable.reset();  // free it before building the next one
        executable.emplace(CompileFor(canonical, watched.computed(), run, registry, given[0]));
      }
      size = next;
      for (std::vector<Tensor>& values_of_batch : watched.SeenIn(given, executable, calls)) {
        visit(first, values_of_batch);
        values_of_batch.clear();
        first += size;
        if (progress) progress(static_cast<double>(first) / static_cast<double>(count));
      }
    }
    // Samples that do not fill a batch are not run, but they must be finite as well.
    if (first < end) (void)ReadFinite(canonical, samples, first, end - first);
    begin = end;
  }
}

}  // namespace msc
