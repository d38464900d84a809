#include "compiler/partition/generate/generate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "compiler/partition/generate/origins.h"
#include "compiler/partition/generate/rule_regions.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

/// Returns the graph after the target's own lowering: the passes that the pipeline runs after
/// canonicalization.
Graph LoweredFor(const Graph& graph, const Target& target) {
  Graph lowered = graph;
  for (const Pass& pass : target.Passes(PassPhase::kBeforeLowering)) pass.run(lowered);
  if (target.WantsFusedOps()) {
    CancelRequantization(lowered);
    FuseOpsFor(lowered, [&](const Graph& g, NodeId id) { return target.Supports(g, id); });
  }
  for (const Pass& pass : target.Passes(PassPhase::kLowering)) pass.run(lowered);
  return lowered;
}

/// Returns whether all inputs and outputs have known types and static shapes, and no nested graph
/// reads outer values.
bool StaticTypes(const Graph& graph, NodeId id) {
  const auto known = [&](ValueId value) {
    if (value == kNoValue) return true;
    const ValueType& type = graph.type(value);
    return type.dtype != DType::kUndefined && type.shape && StaticDims(*type.shape).has_value();
  };
  const Node& node = graph.node(id);
  return node.captures.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

/// What one target supports of the graph.
struct Offer {
  const Target* target = nullptr;
  IndexSet runs;               ///< nodes that it supports
  std::vector<Unit> units;     ///< in the order of OrderUnits
  std::vector<IndexSet> also;  ///< fused operators that overlap units
};

Offer MakeOffer(const Graph& graph, const DataflowGraph& flow, const Target& target) {
  Offer offer{.target = &target, .runs = flow.EmptySet(), .units = {}, .also = {}};
  for (FlowIndex i = 0; i < flow.size(); ++i) {
    const NodeId id = graph.FindNode(flow.node(i).name);
    if (id != kNoNode && StaticTypes(graph, id) && target.Supports(graph, id)) {
      offer.runs.Insert(i);
    }
  }
  std::vector<Unit> units;
  IndexSet covered = flow.EmptySet();
  const auto add = [&](IndexSet nodes) {
    offer.runs |= nodes;
    if (nodes.Intersects(covered)) {
      offer.also.push_back(std::move(nodes));
      return;
    }
    covered |= nodes;
    units.push_back({std::move(nodes), true});
  };
  const Graph lowered = LoweredFor(graph, target);
  const Origins origins(graph, flow, lowered);
  for (const NodeId id : lowered.order()) {
    if (!StaticTypes(lowered, id) || !target.Supports(lowered, id)) continue;
    if (std::optional<IndexSet> nodes = origins.Of(id)) add(*std::move(nodes));
  }
  (offer.runs - covered).ForEach([&](std::size_t node) {
    add(IndexSet::Range(flow.size(), node, node + 1));
  });
  offer.units = OrderUnits(flow, std::move(units));
  // Units that OrderUnits split are single nodes now; take those that the target supports.
  for (Unit& unit : offer.units) unit.taken = unit.taken || unit.nodes.SubsetOf(offer.runs);
  return offer;
}

/// Returns the regions of an offer. A target that computes node by node gets only its largest ones,
/// since longer runs cost what their nodes cost, and the largest ones of nodes that no other target
/// supports: in every cover these go to it.
std::vector<RegionNodes> RegionsOf(const DataflowGraph& flow, const Offer& offer,
                                   const IndexSet& taken_by_others, RegionOptions options) {
  if (!offer.target->RunsNodeByNode()) return MakeRegions(flow, offer.units, options);
  options.runs = false;
  std::vector<RegionNodes> regions = MakeRegions(flow, offer.units, options);
  std::vector<Unit> alone = offer.units;
  for (Unit& unit : alone) unit.taken = unit.taken && !unit.nodes.Intersects(taken_by_others);
  for (RegionNodes& region : MakeRegions(flow, alone, options))
    regions.push_back(std::move(region));
  return regions;
}

/// Collects candidates of one target, each set of nodes once.
class TargetCandidates {
 public:
  TargetCandidates(const Target& target, std::vector<CandidateRegion>& all)
      : target_(target), all_(all) {}

  void Add(const IndexSet& nodes, const std::string& rule) { (void)Find(nodes, rule); }

  /// Adds a region of a user's rule or of the target's own pattern. If there is a candidate with
  /// these nodes already, adds the name to CandidateRegion::also.
  void AddAsked(const RegionNodes& region) {
    CandidateRegion& candidate = Find(region.nodes, region.rule);
    const std::vector<std::string>& also = candidate.also;
    if (candidate.rule == region.rule ||
        std::find(also.begin(), also.end(), region.rule) != also.end()) {
      return;
    }
    candidate.also.push_back(region.rule);
  }

 private:
  CandidateRegion& Find(const IndexSet& nodes, const std::string& rule) {
    const auto [it, added] = places_.emplace(nodes, all_.size());
    if (added) all_.push_back({.nodes = nodes, .target = target_.spec(), .rule = rule});
    return all_[it->second];
  }

  const Target& target_;
  std::vector<CandidateRegion>& all_;
  std::unordered_map<IndexSet, std::size_t, IndexSetHash> places_;
};

/// Returns layers: the chains that targets with fused operators fuse.
std::vector<IndexSet> Layers(const Graph& graph, const DataflowGraph& flow) {
  std::map<std::string, FlowIndex, std::less<>> index;
  for (FlowIndex i = 0; i < flow.size(); ++i) index.emplace(flow.node(i).name, i);
  std::vector<IndexSet> layers;
  for (const LayerChain& chain : FindLayerChains(graph)) {
    IndexSet nodes = flow.EmptySet();
    for (const NodeId id : chain.Nodes()) {
      if (const auto it = index.find(graph.node(id).name); it != index.end()) {
        nodes.Insert(it->second);
      }
    }
    if (!nodes.empty()) layers.push_back(std::move(nodes));
  }
  return layers;
}

/// Adds the regions that target number `i` proposes and the units of other targets.
void AddProposed(const DataflowGraph& flow, const std::vector<Offer>& offers, std::size_t i,
                 const std::vector<IndexSet>& shared, const RegionOptions& options,
                 TargetCandidates& mine) {
  const Offer& offer = offers[i];
  IndexSet others = flow.EmptySet();
  for (const Offer& other : offers) {
    if (&other != &offer) others |= other.runs;
  }
  for (const RegionNodes& region : RegionsOf(flow, offer, others, options)) {
    mine.Add(region.nodes, region.rule);
  }
  for (const IndexSet& nodes : offer.also) mine.Add(nodes, "unit");
  if (offer.target->RunsNodeByNode()) return;
  for (const IndexSet& nodes : shared) {
    if (nodes.SubsetOf(offer.runs) && IsConvex(flow, nodes)) mine.Add(nodes, "shared unit");
  }
}

}  // namespace

std::vector<CandidateRegion> GenerateCandidates(const Graph& graph, const DataflowGraph& flow,
                                                std::span<const Target* const> targets,
                                                const GenerateOptions& options) {
  Check(options.graphs.empty() || options.graphs.size() == targets.size(),
        "each target has its graph");
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Graph& own = options.graphs.empty() ? graph : *options.graphs[i];
    offers.push_back(MakeOffer(own, flow, *targets[i]));
  }
  // Layers and the units of each target are offered to all targets, so that targets compare on the
  // same nodes.
  std::vector<IndexSet> shared = Layers(graph, flow);
  std::vector<Runs> runs;
  for (const Offer& offer : offers) {
    for (const Unit& unit : offer.units) {
      if (unit.taken) shared.push_back(unit.nodes);
    }
    shared.insert(shared.end(), offer.also.begin(), offer.also.end());
    runs.push_back({.target = offer.target, .nodes = offer.runs});
  }
  const std::vector<std::vector<RegionNodes>> asked = RuleRegions(flow, options.rules.rules, runs);
  std::vector<CandidateRegion> candidates;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Offer& offer = offers[i];
    TargetCandidates mine(*offer.target, candidates);
    // Rules replace the proposed regions of targets in `only`.
    if (!NamesTarget(options.rules.only, *offer.target)) {
      AddProposed(flow, offers, i, shared, options.regions, mine);
    }
    offer.runs.ForEach(
        [&](std::size_t node) { mine.Add(IndexSet::Range(flow.size(), node, node + 1), "node"); });
    for (const RegionNodes& region : PatternRegions(flow, runs[i])) mine.AddAsked(region);
    for (const RegionNodes& region : asked[i]) mine.AddAsked(region);
  }
  return candidates;
}

std::vector<std::string> RuleWarnings(const PartitionRules& rules,
                                      std::span<const Target* const> targets,
                                      const DataflowGraph& flow,
                                      std::span<const CandidateRegion> candidates) {
  std::vector<std::string> warnings;
  std::vector<Runs> runs;
  for (const Target* target : targets) {
    // Each node that the target supports is a candidate, so the union of its candidates is what it
    // supports.
    runs.push_back({.target = target, .nodes = flow.EmptySet()});
    for (const CandidateRegion& candidate : candidates) {
      if (candidate.target == target->spec()) runs.back().nodes |= candidate.nodes;
    }
  }
  std::vector<std::string> known;
  for (const Target* target : targets) known.push_back(target->spec());
  const auto check = [&](const std::vector<std::string>& names, const std::string& who) {
    bool any = names.empty();
    for (const std::string& name : names) {
      const bool there = std::any_of(targets.begin(), targets.end(), [&](const Target* target) {
        return NamesTarget({name}, *target);
      });
      any = any || there;
      if (there) continue;
      warnings.push_back(who + " names '" + name + "', which is none of the targets" +
                         DidYouMean(name, known));
    }
    return any;
  };
  (void)check(rules.only, "'only'");
  for (const NamedRule& rule : rules.rules) {
    const std::string who = "rule '" + rule.name + "'";
    if (!check(rule.targets, who)) continue;
    const bool offers =
        std::any_of(candidates.begin(), candidates.end(), [&](const CandidateRegion& candidate) {
          return candidate.rule == rule.name ||
                 std::find(candidate.also.begin(), candidate.also.end(), rule.name) !=
                     candidate.also.end();
        });
    if (!offers)
      warnings.push_back(who + " matches nothing in the canonical graph that could be a region");
    for (std::string& text : LeftOut(flow, rule, runs)) {
      warnings.push_back(who + ": " + std::move(text));
    }
  }
  return warnings;
}

std::vector<std::uint32_t> UnitCandidates(std::span<const CandidateRegion> candidates) {
  std::vector<std::uint32_t> units;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].rule == "unit") units.push_back(i);
  }
  return units;
}

}  // namespace msc
