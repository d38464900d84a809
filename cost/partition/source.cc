#include "cost/partition/source.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/extract.h"
#include "compiler/passes/narrowing.h"
#include "compiler/pipeline/images.h"
#include "compiler/pipeline/region_precision.h"
#include "compiler/pipeline/regions.h"

namespace msc::cost {
namespace {

std::set<std::string> AddedTo(const Graph& graph, const Graph& plain) {
  std::set<std::string> added;
  for (const NodeId id : graph.order()) {
    const std::string& name = graph.node(id).name;
    if (plain.FindNode(name) == kNoNode) added.insert(name);
  }
  return added;
}

/// Collects nodes and everything that decides how they are cut out: the nodes that make and read
/// values on their boundary, the nodes that store these values in fewer bits, and the readers of
/// those.
class Surroundings {
 public:
  explicit Surroundings(const Graph& graph) : graph_(graph) {}

  void Add(NodeId id) {
    near_.insert(id);
    const Node& node = graph_.node(id);
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) {
        if (value != kNoValue && !graph_.constant(value)) AddReaders(AddSource(value));
      }
    }
  }
  [[nodiscard]] const std::set<NodeId>& near() const { return near_; }

 private:
  [[nodiscard]] bool Stores(NodeId id) const {
    return ReadNarrowing(graph_, id).has_value() || ReadWidening(graph_, id).has_value();
  }

  /// Returns the value that `value` is a narrowed or widened form of.
  ValueId AddSource(ValueId value) {
    NodeId producer = graph_.producer(value);
    while (producer != kNoNode) {
      near_.insert(producer);
      if (!Stores(producer)) break;
      value = graph_.node(producer).inputs.front();
      producer = graph_.producer(value);
    }
    return value;
  }

  void AddReaders(ValueId value) {
    if (!seen_.insert(value).second) return;
    for (const Use& use : graph_.uses(value)) {
      near_.insert(use.node);
      if (Stores(use.node)) AddReaders(graph_.node(use.node).outputs.front());
    }
  }

  const Graph& graph_;
  std::set<NodeId> near_;
  std::set<ValueId> seen_;
};

/// Returns the strategy without its targets.
Strategy WithoutTargets(Strategy strategy) {
  strategy.partition.clear();
  strategy.target = Strategy().target;
  return strategy;
}

}  // namespace

/// Input for making sources in other precisions, and those made so far.
struct RegionSource::Precisions {
  Graph canonical;
  Strategy strategy;
  CompileOptions options;
  /// By precisions of layers.
  std::map<PrecisionByLayer, std::unique_ptr<RegionSource>> made = {};
  /// By the precision of all layers.
  std::map<std::optional<Precision>, const RegionSource*> of_all = {};
};

RegionSource::RegionSource(const Graph& canonical, const Strategy& strategy,
                           const CompileOptions& options)
    : graph_(BindSizes(ApplyStrategy(canonical, WithoutTargets(strategy)), options)),
      added_(AddedTo(graph_, BindSizes(canonical, options))),
      layers_(strategy.quantize.layers),
      precisions_(std::make_unique<Precisions>(Precisions{
          .canonical = canonical, .strategy = WithoutTargets(strategy), .options = options})) {
  FindPlaces();
}

RegionSource::RegionSource(Graph graph, std::set<std::string> added)
    : graph_(std::move(graph)), added_(std::move(added)) {
  FindPlaces();
}

RegionSource::RegionSource(RegionSource&& other) noexcept = default;
RegionSource& RegionSource::operator=(RegionSource&& other) noexcept = default;
RegionSource::~RegionSource() = default;

Precision RegionSource::PrecisionOf(const std::string& node) const {
  const auto it = layers_.find(node);
  return it == layers_.end() ? Precision::kF32 : it->second;
}

const RegionSource& RegionSource::For(const std::string& target) const {
  if (precisions_ == nullptr) return *this;
  // Cached, because this is called for thousands of regions.
  const auto [it, is_new] = precisions_->of_all.emplace(PrecisionAsked(target), nullptr);
  if (is_new) it->second = &ForPlan(target, {});
  return *it->second;
}

const RegionSource& RegionSource::ForPlan(const std::string& target,
                                          std::span<const PartitionRegion> plan) const {
  const bool same = !PrecisionAsked(target) &&
                    std::all_of(plan.begin(), plan.end(), [](const PartitionRegion& region) {
                      return !PrecisionAsked(region.target);
                    });
  if (precisions_ == nullptr || same) return *this;
  const Graph& canonical = precisions_->canonical;
  Strategy strategy = precisions_->strategy;
  strategy.target = target;
  strategy.partition.assign(plan.begin(), plan.end());
  strategy = WithPrecisionsOfRegions(canonical, std::move(strategy));
  if (strategy.quantize.layers == precisions_->strategy.quantize.layers) return *this;
  std::unique_ptr<RegionSource>& made = precisions_->made[strategy.quantize.layers];
  if (made == nullptr) {
    made = std::make_unique<RegionSource>(canonical, strategy, precisions_->options);
    made->precisions_.reset();
  }
  return *made;
}

void RegionSource::FindPlaces() {
  std::size_t place = 0;
  for (const NodeId id : graph_.order()) places_[id] = place++;
}

Graph RegionSource::Around(std::span<const std::string> nodes) const {
  Surroundings around(graph_);
  for (const std::string& name : nodes) {
    const NodeId id = graph_.FindNode(name);
    if (id == kNoNode) throw UserError("the graph has no node '" + name + "' to cut out");
    around.Add(id);
  }
  std::vector<NodeId> order(around.near().begin(), around.near().end());
  std::sort(order.begin(), order.end(),
            [&](NodeId a, NodeId b) { return places_.at(a) < places_.at(b); });
  return Extract(graph_, order).graph;
}

Graph RegionSource::Cut(std::span<const std::string> nodes, bool channels_last) const {
  constexpr std::size_t kInside = 0;
  constexpr std::size_t kOutside = 1;
  constexpr std::size_t kFirstSingle = 2;
  Graph graph = Around(nodes);
  std::map<std::string, std::size_t> named;
  for (const NodeId id : graph.order()) {
    const std::string& name = graph.node(id).name;
    if (!added_.contains(name)) named[name] = kOutside;
  }
  for (const std::string& name : nodes) named[name] = kInside;
  const RegionIds regions = AssignRegions(named, kFirstSingle, graph);
  std::vector<NodeId> inside;
  for (const NodeId id : graph.order()) {
    if (regions.at(id) == kInside) inside.push_back(id);
  }
  const Extracted part = Extract(graph, inside);
  return channels_last ? WithImagesChannelsLast(part, graph) : part.graph;
}

const ValueType* RegionSource::ExchangedImage(const std::string& value) const {
  ValueId id = graph_.FindValue(value);
  if (id == kNoValue) return nullptr;
  for (const Use& use : graph_.uses(id)) {
    if (!ReadNarrowing(graph_, use.node)) continue;
    id = graph_.node(use.node).outputs.front();
    break;
  }
  return MayBeChannelsLast(graph_, id) ? &graph_.type(id) : nullptr;
}

}  // namespace msc::cost
