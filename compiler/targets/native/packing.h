#pragma once

#include "compiler/targets/native/product.h"

namespace msc::native {

/// Scratch memory for the weights of one group of `product`, in the order of PackWeights.
[[nodiscard]] View PackedMemory(Lowering& lowering, const Product& product,
                                const TileSchedule& tile);

/// Appends the loops that fill it with matrix [n, g] of `w` [n, g, depth, channels].
void WritePacking(KernelWriter& writer, const VectorUnit& unit, const TileSchedule& tile,
                  const View& w, const View& packed, const Expr& n, const Expr& g, Body& body);

}  // namespace msc::native
