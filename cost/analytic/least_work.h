#pragma once

#include "compiler/ir/graph.h"

namespace msc::cost {

/// Returns a lower bound on the floating-point operations that MSCGym's kernels need for a node.
/// Multiplications and additions count separately. The bound is that of a Conv, MatMul or Gemm,
/// without the taps that fall on padding. For convolutions of 3x3 with stride 1 and one group it is
/// a quarter of that, because Winograd's F(4x4, 3x3) needs a quarter of the multiplications (Lavin
/// and Gray 2015) and no target uses larger tiles. Other nodes return 0, because their operands may
/// be in any cache. Sizes must be static: for a Conv of unknown sizes the result is 0.
[[nodiscard]] double LeastFlops(const Graph& graph, NodeId id);

}  // namespace msc::cost
