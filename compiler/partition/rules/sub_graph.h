#pragma once

#include <cstddef>

#include "compiler/partition/dataflow.h"

namespace msc {

/// A set of nodes of a dataflow graph and its borders.
/// Source: TVM RFC 0062, "SubGraph".
struct SubGraph {
  SubGraph() = default;
  SubGraph(const DataflowGraph& flow, IndexSet nodes);

  IndexSet inside;
  IndexSet entry;   ///< members that read from outside
  IndexSet exit;    ///< members that are read outside or make an output of the graph
  IndexSet input;   ///< nodes outside that members read
  IndexSet output;  ///< nodes outside that read members
  OpKind kind = OpKind::kElementwise;  ///< the kind of its nodes that is hardest to fuse
  /// Number of nodes on the longest path from an entry to an exit.
  std::size_t depth = 0;
};

/// Returns whether the two are disjoint, `upstream` feeds `downstream`, and their union is convex.
[[nodiscard]] bool AreTouching(const DataflowGraph& flow, const SubGraph& upstream,
                               const SubGraph& downstream);

}  // namespace msc
