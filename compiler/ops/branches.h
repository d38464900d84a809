#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A boolean of the graph and the value that it must have.
struct Guard {
  ValueId condition = kNoValue;
  bool value = false;
  friend auto operator<=>(const Guard& a, const Guard& b) {
    return std::tie(a.condition, a.value) <=> std::tie(b.condition, b.value);
  }
  friend bool operator==(const Guard& a, const Guard& b) = default;
};
using Guards = std::set<Guard>;

/// Which nodes of a graph a run may leave out.
struct Branches {
  /// Where nodes of which a run reads the condition and one of the two operands. Both operands and
  /// the output have one type and shape.
  std::set<NodeId> choices;
  /// Nodes whose outputs nobody reads in a run in which one of these guards does not hold. Each
  /// condition is an input or made before the node.
  std::map<NodeId, Guards> guards;
};

/// Finds the branches of choices by one boolean that only a run knows: passes write them for an If
/// (ONNX operator page If-16), and models for themselves. Choices and their operands have known
/// sizes.
[[nodiscard]] Branches FindBranches(const Graph& graph);

/// Does the same, but leaves alone choices whose branches only compute element by element or move
/// values, and cannot fail: computing both in one kernel takes less time than asking.
[[nodiscard]] Branches FindBranchesWorthAsking(const Graph& graph);

}  // namespace msc
