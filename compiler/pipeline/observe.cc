#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
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

/// Returns whether what Sized makes of a part is the same for both lists of its inputs.
bool SameBuild(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dims() == y.dims() && (!MayBeSizes(x) || std::ranges::equal(x.Raw(), y.Raw()));
  });
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

void CachedActivations::Cache(const Graph& graph, std::span<const std::string> values) {
  auto made = std::make_unique<Store>();
  made->names.assign(values.begin(), values.end());
  Observe(graph, values, [&](std::int64_t first, std::span<const Tensor> seen) {
    Batch& batch = made->batches.emplace_back(Batch{.first = first});
    for (const Tensor& value : seen) {
      batch.values.push_back({value.dtype(), value.dims(), made->end});
      made->file.Write(made->end, value.Raw());
      made->end += value.Raw().size();
    }
  });
  store_ = std::move(made);
}

void CachedActivations::Observe(const Graph& graph, std::span<const std::string> values,
                                const BatchVisitor& visit) {
  std::optional<Graph> part;
  if (store_ != nullptr) part = PartBetween(graph, store_->names, values);
  if (!part) {
    ObserveValues(graph, values, samples_, run_, registry_, visit);
    return;
  }
  const auto place_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(store_->names.begin(), store_->names.end(), name) -
                                    store_->names.begin());
  };
  const auto read = [&](const Place& place) {
    Tensor tensor(place.dtype, place.dims);
    store_->file.Read(place.offset, tensor.MutableRaw());
    return tensor;
  };
  std::optional<Executable> executable;
  std::vector<Tensor> built_for;  // inputs of the executable, as far as it depends on them
  for (const Batch& batch : store_->batches) {
    std::vector<Tensor> given;
    for (const ValueId input : part->inputs()) {
      given.push_back(read(batch.values.at(place_of(part->value(input).name))));
    }
    if (!part->outputs().empty() && (!executable || !SameBuild(built_for, given))) {
      executable.reset();  // free it before building the next one
      try {
        executable.emplace(CompilePart(Sized(*part, given), {}, run_, registry_));
      } catch (const UserError&) {
        // A part may lack what the whole graph knows; nothing was shown yet.
        if (&batch != &store_->batches.front()) throw;
        ObserveValues(graph, values, samples_, run_, registry_, visit);
        return;
      }
      built_for = given;
    }
    const std::vector<Tensor> made = executable ? executable->Run(given) : std::vector<Tensor>();
    std::vector<Tensor> seen;
    std::size_t next = 0;
    std::map<std::string_view, std::size_t> computed;
    for (const ValueId output : part->outputs()) {
      computed.emplace(part->value(output).name, next++);
    }
    for (const std::string& name : values) {
      const auto found = computed.find(name);
      seen.push_back(found == computed.end() ? read(batch.values.at(place_of(name)))
                                             : made.at(found->second));
    }
    visit(batch.first, seen);
  }
}

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
