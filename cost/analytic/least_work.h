#pragma once

#include "compiler/ir/graph.h"

namespace msc::cost {

/// Multiplications and additions, counted apart, that no kernel of ours computes a node with fewer
/// of: those of a Conv, MatMul or Gemm, without what its padding needs; a quarter of it for
/// convolutions of 3x3 with stride 1, which Winograd's F(4x4, 3x3) computes with a quarter of the
/// multiplications (Lavin and Gray 2015), and targets with no larger tiles. Other nodes count
/// nothing: their operands may be in any cache. Sizes are static where work is to count.
[[nodiscard]] double LeastFlops(const Graph& graph, NodeId id);

}  // namespace msc::cost
