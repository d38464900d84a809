#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// How a graph is cut into regions that are lowered separately, each for its own target.

/// Region by node. Regions that a caller names are 0, 1, ...; others follow.
using RegionIds = std::map<NodeId, std::size_t>;

/// Returns the region of every node of `graph`. `named` maps names of nodes to regions. A node that
/// is missing there gets a region of its own, numbered from `first_single` on, unless it is one by
/// which a strategy stores values in fewer bits (see passes/narrowing.h):
/// - A narrowing node belongs to the region that computes its input, so that the narrow value
///   crosses; one behind a graph input belongs to the first region that needs it.
/// - A widening node belongs to the region that reads it. If several regions read it, `graph` gets
///   a copy for each.
///
/// UserError if `named` contains an unknown node, or if a node has nested graphs that read values
/// around them, because such nodes cannot be cut out.
[[nodiscard]] RegionIds AssignRegions(const std::map<std::string, std::size_t>& named,
                                      std::size_t first_single, Graph& graph);

/// Nodes of a region, in the graph's order.
struct OrderedRegion {
  std::size_t id = 0;  ///< if regions of one node were joined, the id of the first
  std::vector<NodeId> nodes;
};

/// Returns the regions in an order in which none reads what a later one makes; of several that
/// could be next, the one with the first node is next. Successive regions of one node, numbered
/// from `first_single` on, are joined. UserError if regions wait for each other, as a single region
/// does if it is not convex; it names them.
[[nodiscard]] std::vector<OrderedRegion> OrderRegions(const Graph& graph, const RegionIds& regions,
                                                      std::size_t first_single);

}  // namespace msc
