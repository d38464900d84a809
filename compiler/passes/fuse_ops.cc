#include <utility>
#include <vector>

#include "compiler/passes/chain.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

// Moves and merges narrowing and widening nodes until nothing changes.
bool SettleNarrowing(Graph& graph) {
  bool changed = false;
  bool again = true;
  while (again) {
    again = MergeEqualNarrowings(graph);
    again |= MoveNarrowing(graph);
    again |= CancelRequantization(graph);
    again |= RemoveDeadCode(graph);
    changed |= again;
  }
  return changed;
}

}  // namespace

bool FuseOpsFor(Graph& graph, const Takes& takes) {
  bool changed = SettleNarrowing(graph);
  // Attention first: the scale in front of it must not become part of a layer.
  changed |= FuseAttention(graph, takes);
  const std::vector<LayerChain> chains = FindLayerChains(graph);
  for (const LayerChain& chain : chains) changed |= FuseLayer(graph, chain, takes);
  changed |= FuseGelu(graph, takes);
  changed |= FusePools(graph);
  changed |= FuseBinaries(graph);
  changed |= RemoveDeadCode(graph);
  return changed;
}

bool FuseOps(Graph& graph) {
  return FuseOpsFor(graph, {});
}

bool WouldTake(Graph& graph, Node node, ValueType type, NodeId before, const Takes& takes) {
  if (!takes) return true;
  const ValueId made = graph.AddValue(graph.FreeValueName("candidate"), std::move(type));
  node.name = graph.FreeNodeName("candidate");
  node.outputs = {made};
  const NodeId id = graph.AddNode(std::move(node), before);
  const bool taken = takes(graph, id);
  graph.RemoveNode(id);
  return taken;
}

}  // namespace msc
