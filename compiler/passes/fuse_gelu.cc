#include <utility>

#include "compiler/passes/fuse.h"
#include "compiler/passes/gelu.h"
#include "compiler/passes/rewrite.h"

namespace msc {

bool FuseGelu(Graph& graph, const Takes& takes) {
  return Sweep(graph, [&](NodeId id) {
    const auto match = MatchGelu(graph, id);
    if (!match) return false;
    Node gelu{.op = "Gelu",
              .domain = "msc",
              .inputs = {match->x},
              .attrs = {{"op", match->activation.op}}};
    if (!WouldTake(graph, gelu, graph.type(graph.node(id).outputs.front()), id, takes)) {
      return false;
    }
    ReplaceChain(graph, match->nodes, std::move(gelu));
    return true;
  });
}

}  // namespace msc
