#include <vector>

#include "compiler/passes/chain.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

// Narrow values as far as they reach, and none twice.
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

bool FuseOps(Graph& graph) {
  bool changed = SettleNarrowing(graph);
  const std::vector<LayerChain> chains = FindLayerChains(graph);
  for (const LayerChain& chain : chains) changed |= FuseLayer(graph, chain);
  changed |= FusePools(graph);
  changed |= FuseBinaries(graph);
  changed |= RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
