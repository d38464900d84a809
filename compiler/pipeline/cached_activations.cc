#include "compiler/pipeline/cached_activations.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/extract.h"
#include "compiler/pipeline/batch.h"

namespace msc {
namespace {

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

/// Values of batches, in a file, since their number grows with the number of samples.
class CachedActivations::Store {
 public:
  explicit Store(std::span<const std::string> names) : names_(names.begin(), names.end()) {}

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t batches() const { return batches_.size(); }
  /// Returns the number of the first sample of a batch.
  [[nodiscard]] std::int64_t First(std::size_t batch) const { return batches_.at(batch).first; }

  /// Adds a batch, with its values in the order of the names.
  void Add(std::int64_t first, std::span<const Tensor> values) {
    Batch batch{.first = first};
    for (const Tensor& value : values) {
      Check(value.dtype() != DType::kString, "activations are numbers");
      batch.values.push_back({value.dtype(), value.dims(), end_});
      file_.Write(end_, value.Raw());
      end_ += value.bytes();
    }
    batches_.push_back(std::move(batch));
  }
  [[nodiscard]] Tensor Read(std::size_t batch, std::size_t value) const {
    const Place& place = batches_.at(batch).values.at(value);
    Tensor tensor(place.dtype, place.dims);
    file_.Read(place.offset, tensor.MutableRaw());
    return tensor;
  }

 private:
  struct Place {
    DType dtype = DType::kF32;
    Dims dims = {};
    std::uint64_t offset = 0;
  };
  struct Batch {
    std::int64_t first = 0;
    std::vector<Place> values = {};
  };
  std::vector<std::string> names_;
  std::vector<Batch> batches_;
  ScratchFile file_;
  std::uint64_t end_ = 0;
};

/// The run of a part of a graph from the values of a store.
class CachedActivations::Run {
 public:
  Run(Graph part, const Store& store, std::span<const std::string> values)
      : part_(std::move(part)), store_(store) {
    const auto place_of = [&](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(store.names(), name) -
                                      store.names().begin());
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

  /// Returns the inputs of the part for a batch.
  [[nodiscard]] std::vector<Tensor> InputsFor(std::size_t batch) const {
    std::vector<Tensor> given;
    for (const std::size_t place : inputs_) given.push_back(store_.Read(batch, place));
    return given;
  }
  /// Returns the wanted values of a batch, computed ones and those of the store.
  [[nodiscard]] std::vector<Tensor> SeenIn(std::size_t batch,
                                           const std::vector<Tensor>& given) const {
    std::vector<Tensor> made = executable_ ? executable_->Run(given) : std::vector<Tensor>();
    std::vector<Tensor> seen(places_.size());
    // From the back, as a value that is named several times is copied for all but its first name.
    for (std::size_t i = places_.size(); i-- > 0;) {
      const Place& place = places_[i];
      if (!place.computed) {
        seen[i] = store_.Read(batch, place.at);
      } else if (place.first) {
        seen[i] = std::move(made.at(place.at));
      } else {
        seen[i] = made.at(place.at);
      }
    }
    return seen;
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
  const Store& store_;
  std::vector<std::size_t> inputs_;  ///< place in a batch of each input of the part
  std::vector<Place> places_;        ///< of each wanted value
  std::optional<Executable> executable_;
  std::vector<BuildKey> built_for_;
};

CachedActivations::CachedActivations(const SampleSource& samples, const CalibrationRun& run,
                                     const TargetRegistry& registry)
    : samples_(samples), run_(run), registry_(registry) {}
CachedActivations::~CachedActivations() = default;

void CachedActivations::Cache(const Graph& graph, std::span<const std::string> values) {
  auto made = std::make_unique<Store>(values);
  const bool ran = RunFromStore(
      graph, values, [&](std::int64_t first, std::vector<Tensor> seen) { made->Add(first, seen); });
  if (!ran) {
    ObserveValues(
        graph, values, samples_, run_, registry_,
        [&](std::int64_t first, std::span<const Tensor> seen) { made->Add(first, seen); });
  }
  store_ = std::move(made);
}

void CachedActivations::Observe(const Graph& graph, std::span<const std::string> values,
                                const BatchVisitor& visit) {
  const bool ran = RunFromStore(
      graph, values, [&](std::int64_t first, std::vector<Tensor> seen) { visit(first, seen); });
  if (!ran) ObserveValues(graph, values, samples_, run_, registry_, visit);
}

bool CachedActivations::RunFromStore(const Graph& graph, std::span<const std::string> values,
                                     const BatchTaker& take) {
  if (store_ == nullptr) return false;
  std::optional<Graph> part = PartBetween(graph, store_->names(), values);
  if (!part) return false;
  Run run(*std::move(part), *store_, values);
  const std::size_t count = store_->batches();
  const auto calls = static_cast<std::size_t>(run_.CallsAtOnce());
  for (std::size_t first = 0; first < count;) {
    std::vector<std::vector<Tensor>> given = {run.InputsFor(first)};
    try {
      run.Prepare(given[0], run_, registry_);
    } catch (const UserError&) {
      // A part may lack what the whole graph knows; nothing was shown yet.
      if (first > 0) throw;
      return false;
    }
    while (given.size() < calls && first + given.size() < count) {
      given.push_back(run.InputsFor(first + given.size()));
      if (run.Suits(given.back())) continue;
      given.pop_back();
      break;
    }
    std::vector<std::vector<Tensor>> seen(given.size());
    ForEachOnThreads(run_.CallsAtOnce(), given.size(), [&](std::size_t i) {
      seen[i] = run.SeenIn(first + i, given[i]);
      given[i].clear();
    });
    for (std::vector<Tensor>& each : seen) take(store_->First(first++), std::move(each));
  }
  return true;
}

}  // namespace msc
