#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/extract.h"
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

Executable CompileFor(const Graph& graph, const std::vector<std::string>& values,
                      const CalibrationRun& run, const TargetRegistry& registry,
                      std::span<const Tensor> inputs) {
  return CompilePart(PartFor(graph, values), BindingsFor(graph, inputs), run, registry);
}

/// Returns the part of the graph between the values of these names and `wanted`, whose inputs are
/// some of the former. nullopt if `wanted` need more than these, or if the part has nested graphs
/// that read values around them.
std::optional<Graph> PartBetween(const Graph& graph, std::span<const std::string> names,
                                 std::span<const std::string> wanted) {
  std::set<ValueId> known;
  for (const std::string& name : names) known.insert(graph.FindValue(name));
  std::set<NodeId> needed;
  std::vector<ValueId> open;
  for (const std::string& name : wanted) open.push_back(graph.FindValue(name));
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (value == kNoValue) return std::nullopt;
    if (known.contains(value) || graph.constant(value) != nullptr) continue;
    const NodeId maker = graph.producer(value);
    if (maker == kNoNode || !graph.node(maker).captures.empty()) return std::nullopt;
    if (!needed.insert(maker).second) continue;
    for (const ValueId input : graph.node(maker).inputs) {
      if (input != kNoValue) open.push_back(input);
    }
  }
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order()) {
    if (needed.contains(id)) nodes.push_back(id);
  }
  Graph part = Extract(graph, nodes).graph;
  std::vector<ValueId> outputs;
  for (const std::string& name : wanted) {
    const ValueId id = part.FindValue(name);
    const bool is_new = std::find(outputs.begin(), outputs.end(), id) == outputs.end();
    if (id != kNoValue && !part.IsInput(id) && is_new) outputs.push_back(id);
  }
  part.SetOutputs(outputs);
  return part;
}

/// Returns whether a tensor may be a list of sizes that a Reshape reads, for example. The types of
/// a graph depend on these numbers.
bool MayBeSizes(const Tensor& tensor) {
  return tensor.dims().size() <= 1 &&
         (tensor.dtype() == DType::kI64 || tensor.dtype() == DType::kI32);
}

/// What Sized makes of a part depends on this of an input.
struct BuildKey {
  Dims dims;
  Tensor sizes = {};  ///< of a list of sizes, its numbers
  bool operator==(const BuildKey&) const = default;
};

BuildKey BuildKeyOf(const Tensor& input) {
  return {.dims = input.dims(), .sizes = MayBeSizes(input) ? input : Tensor()};
}

/// Gives the inputs of a part the sizes of these tensors. Lists of sizes become constants.
Graph Sized(Graph part, const std::vector<Tensor>& given) {
  const std::vector<ValueId> inputs = part.inputs();
  for (std::size_t i = 0; i < given.size(); ++i) {
    part.SetType(inputs[i], {.dtype = given[i].dtype(), .shape = ToShape(given[i].dims())});
    if (!MayBeSizes(given[i])) continue;
    const std::string name = part.FreeValueName(part.value(inputs[i]).name + "_known");
    part.ReplaceUses(inputs[i], part.AddConstant(name, given[i]));
  }
  return part;
}

}  // namespace

int CalibrationRun::CallsAtOnce() const {
  constexpr int kMost = 8;
  return calls > 0 ? calls : std::clamp(CoreCount() / std::max(threads, 1), 1, kMost);
}

/// The run of a part of a graph from the values of a store.
class CachedActivations::Run {
 public:
  Run(Graph part, const Store& store, std::span<const std::string> values)
      : part_(std::move(part)) {
    const auto place_of = [&](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(store.names, name) - store.names.begin());
    };
    for (const ValueId input : part_.inputs()) {
      inputs_.push_back(place_of(part_.value(input).name));
    }
    for (const std::string& name : values) {
      const ValueId id = part_.FindValue(name);
      const auto output = std::ranges::find(part_.outputs(), id);
      Place place{.computed = id != kNoValue && output != part_.outputs().end()};
      place.at = place.computed ? static_cast<std::size_t>(output - part_.outputs().begin())
                                : place_of(name);
      place.first =
          std::ranges::none_of(places_, [&](const Place& earlier) { return earlier.Is(place); });
      places_.push_back(place);
    }
  }

  /// Makes the part ready for these inputs, which it was not made ready for before.
  void Prepare(const std::vector<Tensor>& given, const CalibrationRun& run,
               const TargetRegistry& registry) {
    if (part_.outputs().empty() || IsBuiltFor(given)) return;
    executable_.reset();  // free it before building the next one
    executable_.emplace(CompilePart(Sized(part_, given), {}, run, registry));
    built_for_.clear();
    for (const Tensor& input : given) built_for_.push_back(BuildKeyOf(input));
  }
  /// Returns whether Prepare did what these inputs need.
  [[nodiscard]] bool Suits(const std::vector<Tensor>& given) const {
    return part_.outputs().empty() || IsBuiltFor(given);
  }

  /// Takes the inputs of the part out of the batch, until PutBack.
  [[nodiscard]] std::vector<Tensor> TakeInputs(Batch& batch) const {
    std::vector<Tensor> given;
    given.reserve(inputs_.size());
    for (const std::size_t place : inputs_) given.push_back(std::move(batch.values.at(place)));
    return given;
  }
  void PutBack(std::vector<Tensor> given, Batch& batch) const {
    for (std::size_t i = 0; i < given.size(); ++i) {
      batch.values.at(inputs_[i]) = std::move(given[i]);
    }
  }
  /// Returns the wanted values, computed ones and those of the batch, which lacks them afterwards
  /// until PutBackSeen.
  [[nodiscard]] std::vector<Tensor> TakeSeen(Batch& batch, std::vector<Tensor> given) const {
    std::vector<Tensor> made = executable_ ? executable_->Run(given) : std::vector<Tensor>();
    PutBack(std::move(given), batch);
    std::vector<Tensor> seen(places_.size());
    // From the back, as a value that is named several times is copied for all but its first name.
    for (std::size_t i = places_.size(); i-- > 0;) {
      Tensor& from = places_[i].computed ? made.at(places_[i].at) : batch.values.at(places_[i].at);
      seen[i] = places_[i].first ? std::move(from) : from;
    }
    return seen;
  }
  void PutBackSeen(std::vector<Tensor> seen, Batch& batch) const {
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (places_[i].computed || !places_[i].first) continue;
      batch.values.at(places_[i].at) = std::move(seen[i]);
    }
  }

 private:
  struct Place {
    bool computed = false;
    std::size_t at = 0;  ///< in what is computed, or in a batch
    bool first = true;   ///< whether no earlier value has the same place
    [[nodiscard]] bool Is(const Place& other) const {
      return computed == other.computed && at == other.at;
    }
  };

  [[nodiscard]] bool IsBuiltFor(const std::vector<Tensor>& given) const {
    return executable_ && std::ranges::equal(built_for_, given, {}, {}, BuildKeyOf);
  }

  Graph part_;
  std::vector<std::size_t> inputs_;  ///< place in a batch of each input of the part
  std::vector<Place> places_;        ///< of each wanted value
  std::optional<Executable> executable_;
  std::vector<BuildKey> built_for_;
};

void CachedActivations::Cache(const Graph& graph, std::span<const std::string> values) {
  auto made = std::make_unique<Store>();
  made->names.assign(values.begin(), values.end());
  const bool ran = RunFromStore(graph, values, [&](std::int64_t first, std::vector<Tensor> seen) {
    made->batches.push_back({.first = first, .values = std::move(seen)});
    return std::vector<Tensor>();  // the store is replaced
  });
  if (!ran) {
    ObserveValues(graph, values, samples_, run_, registry_,
                  [&](std::int64_t first, std::span<const Tensor> seen) {
                    made->batches.push_back({.first = first, .values = {seen.begin(), seen.end()}});
                  });
  }
  store_ = std::move(made);
}

void CachedActivations::Observe(const Graph& graph, std::span<const std::string> values,
                                const BatchVisitor& visit) {
  const bool ran = RunFromStore(graph, values, [&](std::int64_t first, std::vector<Tensor> seen) {
    visit(first, seen);
    return seen;
  });
  if (!ran) ObserveValues(graph, values, samples_, run_, registry_, visit);
}

bool CachedActivations::RunFromStore(const Graph& graph, std::span<const std::string> values,
                                     const BatchTaker& take) {
  if (store_ == nullptr) return false;
  std::optional<Graph> part = PartBetween(graph, store_->names, values);
  if (!part) return false;
  Run run(*std::move(part), *store_, values);
  std::vector<Batch>& batches = store_->batches;
  const auto calls = static_cast<std::size_t>(run_.CallsAtOnce());
  for (std::size_t first = 0; first < batches.size();) {
    std::vector<std::vector<Tensor>> given = {run.TakeInputs(batches[first])};
    try {
      run.Prepare(given[0], run_, registry_);
    } catch (const UserError&) {
      // A part may lack what the whole graph knows; nothing was shown yet.
      if (first > 0) throw;
      run.PutBack(std::move(given[0]), batches[first]);
      return false;
    }
    while (given.size() < calls && first + given.size() < batches.size()) {
      Batch& next = batches[first + given.size()];
      given.push_back(run.TakeInputs(next));
      if (run.Suits(given.back())) continue;
      run.PutBack(std::move(given.back()), next);
      given.pop_back();
      break;
    }
    std::vector<std::vector<Tensor>> seen(given.size());
    ForEachOnThreads(run_.CallsAtOnce(), given.size(), [&](std::size_t i) {
      seen[i] = run.TakeSeen(batches[first + i], std::move(given[i]));
    });
    for (std::vector<Tensor>& each : seen) {
      Batch& batch = batches[first++];
      run.PutBackSeen(take(batch.first, std::move(each)), batch);
    }
  }
  return true;
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
