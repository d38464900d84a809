#pragma once

// How operators become TrainOps. Private to this folder.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/compress/distill/program.h"
#include "compiler/ir/graph.h"

namespace msc::detail {

/// A node while it is translated. `made` has its operator, name and inputs.
struct TrainSite {
  const Graph& graph;
  const Node& node;
  TrainOp& made;
};

/// An operator that can be trained through.
struct TrainRow {
  std::string_view op;
  /// Fills ints and reals in, and drops inputs that are no operands. UserError naming the node.
  void (*read)(const TrainSite&);
  /// Inputs that are trained where they are constants, as a bit each.
  unsigned trained = 0;
};
/// nullptr if there is none.
[[nodiscard]] const TrainRow* FindTrainRow(const Node& node);
/// All of them, by name.
[[nodiscard]] std::vector<std::string_view> TrainableOps();

}  // namespace msc::detail
