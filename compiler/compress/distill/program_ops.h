#pragma once

// How operators become TrainOps. Private to this folder.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compiler/compress/distill/program.h"
#include "compiler/ir/graph.h"

namespace msc::detail {

/// A node that is being translated. `made` already has its operator, name and inputs.
struct TrainSite {
  const Graph& graph;
  const Node& node;
  TrainOp& made;
};

/// An operator that can be trained through.
struct TrainRow {
  std::string_view op;
  /// Sets ints and reals, and removes inputs that are not operands. UserError with the node's name.
  void (*read)(const TrainSite&);
  /// Which inputs are trained if they are constant, one bit each.
  unsigned trained = 0;
};
/// Returns the row of an operator; nullptr if it cannot be trained through.
[[nodiscard]] const TrainRow* FindTrainRow(const Node& node);

}  // namespace msc::detail
