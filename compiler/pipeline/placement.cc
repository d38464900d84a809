#include "compiler/pipeline/placement.h"

#include <cstddef>
#include <string>

#include "compiler/base/error.h"
#include "compiler/ops/declared.h"

namespace msc {
namespace {

/// Returns the first of `fallbacks` that runs a node which `wanted` rejects; nullptr if none does.
const Target* FallbackFor(const Graph& graph, NodeId id, const Target& wanted,
                          std::span<const std::string_view> fallbacks,
                          const TargetRegistry& registry) {
  for (const std::string_view name : fallbacks) {
    if (name == wanted.facts().name) continue;
    const Target* target = registry.Find(name);
    if (target != nullptr && MayRun(*target, graph, id)) return target;
  }
  return nullptr;
}

}  // namespace

bool MayRun(const Target& target, const Graph& graph, NodeId id) {
  return (target.facts().name == "reference" || TypesFollow(graph, id)) &&
         target.Supports(graph, id);
}

std::vector<TargetRun> WantedRuns(const Lowered& lowered, const TargetRegistry& registry) {
  const std::vector<NodeId>& order = lowered.graph.order();
  if (lowered.regions.empty()) return {{&registry.Get(lowered.target), order}};
  std::vector<TargetRun> runs;
  std::size_t at = 0;
  for (const PartitionRegion& region : lowered.regions) {
    runs.push_back({&registry.Get(region.target), {}});
    for (const std::string& name : region.nodes) {
      if (at == order.size() || lowered.graph.node(order[at]).name != name) {
        throw UserError("the regions do not list the nodes of the graph in its order, at '" + name +
                        "'");
      }
      runs.back().nodes.push_back(order[at++]);
    }
  }
  if (at != order.size()) {
    throw UserError("the regions leave out node '" + lowered.graph.node(order[at]).name + "'");
  }
  return runs;
}

Result<Placement> PlaceNodes(const Graph& graph, std::span<const TargetRun> wanted,
                             std::span<const std::string_view> fallbacks,
                             const TargetRegistry& registry) {
  const Branches branches = FindBranchesWorthAsking(graph);
  Placement placement;
  std::vector<TargetRun>& placed = placement.runs;
  for (const TargetRun& run : wanted) {
    bool goes_on = false;
    for (const NodeId id : run.nodes) {
      const Target* target = run.target;
      if (!MayRun(*target, graph, id)) {
        target = FallbackFor(graph, id, *run.target, fallbacks, registry);
        if (target == nullptr) {
          const Node& node = graph.node(id);
          return Failure{FailureKind::kUnsupported,
                         "no target runs node '" + node.name + "' (" + node.op + ")"};
        }
        placement.uses_first_fallback |= target->facts().name == fallbacks.front();
      }
      const bool chooses = branches.choices.contains(id);
      const auto found = branches.guards.find(id);
      const Guards guards = found == branches.guards.end() ? Guards{} : found->second;
      goes_on = goes_on && placed.back().target == target && placed.back().guards == guards &&
                !placed.back().chooses && !chooses;
      if (!goes_on) placed.push_back({target, {}, guards, chooses});
      placed.back().nodes.push_back(id);
      goes_on = true;
    }
  }
  return placement;
}

}  // namespace msc
