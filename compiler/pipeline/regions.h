#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// How a graph is cut into regions that are lowered one by one, each for a target of its own.

/// Region by node. Those that a caller names are 0, 1, ...; others come after them.
using RegionIds = std::map<NodeId, std::size_t>;

/// The region of every node of `graph`. `named`: region by node name. A node that it does not name
/// gets a region of its own, from `first_single` on, unless it is one by which a strategy stores
/// values in fewer bits (see passes/narrowing.h):
///
/// A narrowing node belongs to the region that computes what it reads, so that the narrow value is
/// what crosses; one of a graph input, to the first region that needs it. A widening node belongs
/// to the region that reads it; where those are several, `graph` gets a copy for each.
///
/// UserError if `named` has a name that no node has, or if a node has nested graphs that read
/// values around them: nothing can be cut out around those.
[[nodiscard]] RegionIds AssignRegions(const std::map<std::string, std::size_t>& named,
                                      std::size_t first_single, Graph& graph);

/// Nodes of one region in the graph's order.
struct OrderedRegion {
  std::size_t id = 0;  ///< where several regions of one node became one: that of the first
  std::vector<NodeId> nodes;
};

/// The regions in an order in which none reads what a later one makes; those that could come next
/// come in the order of their first nodes. Regions of one node, from `first_single` on, become one
/// where they follow each other. UserError, naming them, if regions need each other's results in a
/// circle, as one that is not convex does by itself.
[[nodiscard]] std::vector<OrderedRegion> OrderRegions(const Graph& graph, const RegionIds& regions,
                                                      std::size_t first_single);

}  // namespace msc
