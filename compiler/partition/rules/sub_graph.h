#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// Nodes that become one function, with its attributes: "Composite", "Primitive", "Compiler".
struct NestedSubGraph {
  IndexSet nodes;
  std::map<std::string, std::string> attributes;
  bool operator==(const NestedSubGraph&) const = default;
};

/// Limits of the regions that a target takes.
struct SubGraphConfig {
  std::size_t max_exits = 0;  ///< 0: any number
  std::size_t max_depth = 0;  ///< 0: any depth
  bool allow_taps = false;    ///< exits that are read inside, too
};

/// A set of nodes of a dataflow graph and its borders. Names of operators and scalars count as part
/// of the nodes that read them, not as inputs.
/// Source: TVM RFC 0062, "SubGraph".
struct SubGraph {
  SubGraph() = default;
  SubGraph(const DataflowGraph& flow, IndexSet nodes, std::vector<NestedSubGraph> nested = {});

  IndexSet inside;
  IndexSet entry;   ///< members that read from outside
  IndexSet exit;    ///< members that are read outside or make an output of the graph
  IndexSet input;   ///< nodes outside that members read
  IndexSet output;  ///< nodes outside that read members
  IndexSet taps;    ///< exits that members read, too
  OpKind kind = OpKind::kElementwise;  ///< the kind of its nodes that is hardest to fuse
  /// Number of nodes on the longest path from an entry to an exit.
  std::size_t depth = 0;
  std::string label;  ///< operators of its nodes, joined by '+'
  std::vector<NestedSubGraph> nested;
};

/// Returns why `config` does not allow `sub_graph`; empty if it does. Checks in this order: exits,
/// depth, one block, nested functions disjoint and inside, taps, convexity.
[[nodiscard]] std::string WhyInvalid(const DataflowGraph& flow, const SubGraph& sub_graph,
                                     const SubGraphConfig& config);
[[nodiscard]] inline bool IsValid(const DataflowGraph& flow, const SubGraph& sub_graph,
                                  const SubGraphConfig& config) {
  return WhyInvalid(flow, sub_graph, config).empty();
}

/// Returns whether the two are disjoint, `upstream` feeds `downstream`, and their union is convex.
[[nodiscard]] bool AreTouching(const DataflowGraph& flow, const SubGraph& upstream,
                               const SubGraph& downstream);

/// Returns the union. Nested functions with the same attributes are merged, except composites.
/// InternalError unless `a` and `b` are disjoint.
[[nodiscard]] SubGraph DisjointUnion(const DataflowGraph& flow, const SubGraph& a,
                                     const SubGraph& b);

/// Returns `sub_graph` with all its nodes in one nested function with this attribute.
[[nodiscard]] SubGraph WithAttribute(const DataflowGraph& flow, const SubGraph& sub_graph,
                                     const std::string& key, const std::string& value);

/// Returns the parameters of the function that `sub_graph` becomes: tensors from outside, in the
/// order in which they are first needed going backwards from its last exit, operands from left to
/// right.
[[nodiscard]] std::vector<FlowIndex> Parameters(const DataflowGraph& flow,
                                                const SubGraph& sub_graph);

}  // namespace msc
