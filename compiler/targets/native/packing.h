#pragma once

#include <optional>

#include "compiler/targets/native/product.h"

namespace msc::native {

/// The last two axes behind exactly two batch axes, broadcast to `batch`; nothing where more than
/// two batch axes lie so that they cannot be joined.
[[nodiscard]] std::optional<View> AsBatch(const View& view, const Dims& batch);

/// [n, g, rows, columns] as the n, g, c, h, w of a product: columns are channels, rows go along w.
[[nodiscard]] View AsProduct(const View& view);

/// Scratch memory for the weights of one group of `product`, in the order of PackWeights.
[[nodiscard]] View PackedMemory(Lowering& lowering, const Product& product,
                                const TileSchedule& tile);

/// Appends the loops that fill it with matrix [n, g] of `w` [n, g, depth, channels].
void WritePacking(KernelWriter& writer, const VectorUnit& unit, const TileSchedule& tile,
                  const View& w, const View& packed, const Expr& n, const Expr& g, Body& body);

}  // namespace msc::native
