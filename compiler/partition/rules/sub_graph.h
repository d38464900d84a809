#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// Nodes that are to be one function of their own, with what is said about it: "Composite",
/// "Primitive", "Compiler".
struct NestedSubGraph {
  IndexSet nodes;
  std::map<std::string, std::string> attributes;
  bool operator==(const NestedSubGraph&) const = default;
};

/// What regions a target takes.
struct SubGraphConfig {
  std::size_t max_exits = 0;  ///< 0: any number
  std::size_t max_depth = 0;  ///< 0: any
  bool allow_taps = false;    ///< exits that are read inside too
};

/// Nodes of a dataflow graph, and how they lie in it. Names of operators and scalars are part of
/// what reads them: they are no inputs. Source: TVM RFC 0062, "SubGraph".
struct SubGraph {
  SubGraph() = default;
  SubGraph(const DataflowGraph& flow, IndexSet nodes, std::vector<NestedSubGraph> nested = {});

  IndexSet inside;
  IndexSet entry;                      ///< inside, reads from outside
  IndexSet exit;                       ///< inside, read outside or a result of the whole
  IndexSet input;                      ///< outside, read inside
  IndexSet output;                     ///< outside, reads inside
  IndexSet taps;                       ///< exits that are read inside too
  OpKind kind = OpKind::kElementwise;  ///< the hardest of its nodes
  /// Nodes on the longest way from an entry to an exit.
  std::size_t depth = 0;
  std::string label;  ///< its operators joined by '+'
  std::vector<NestedSubGraph> nested;
};

/// Why `sub_graph` is not what `config` allows; empty if it is. Checks exits, depth, one block,
/// nested ones disjoint and inside, taps, and that no way leaves it and comes back, in this order.
[[nodiscard]] std::string WhyInvalid(const DataflowGraph& flow, const SubGraph& sub_graph,
                                     const SubGraphConfig& config);
[[nodiscard]] inline bool IsValid(const DataflowGraph& flow, const SubGraph& sub_graph,
                                  const SubGraphConfig& config) {
  return WhyInvalid(flow, sub_graph, config).empty();
}

/// Disjoint, `upstream` feeds `downstream`, and no way between them passes through others.
[[nodiscard]] bool AreTouching(const DataflowGraph& flow, const SubGraph& upstream,
                               const SubGraph& downstream);

/// Both together. Nested ones with the same attributes become one, except composites.
[[nodiscard]] SubGraph DisjointUnion(const DataflowGraph& flow, const SubGraph& a,
                                     const SubGraph& b);

/// `sub_graph` with all its nodes in one nested function of that attribute.
[[nodiscard]] SubGraph WithAttribute(const DataflowGraph& flow, const SubGraph& sub_graph,
                                     const std::string& key, const std::string& value);

/// Parameters of the function that it becomes: tensors from outside, in the order in which they are
/// first needed going from its last exit backwards, operands from left to right.
[[nodiscard]] std::vector<FlowIndex> Parameters(const DataflowGraph& flow,
                                                const SubGraph& sub_graph);

}  // namespace msc
