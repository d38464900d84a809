#pragma once

#include <optional>

#include "compiler/targets/native/product.h"

namespace msc::native {

/// Returns the last two axes preceded by exactly two batch axes, broadcast to `batch`; nullopt if
/// more than two batch axes cannot be merged.
[[nodiscard]] std::optional<View> AsBatch(const View& view, const Dims& batch);

/// Returns [n, g, rows, columns] as dims n, g, c, h, w of a product: columns are channels, rows are
/// w.
[[nodiscard]] View AsProduct(const View& view);

/// Returns scratch memory for the weights of one group of `product`, in the order of PackWeights.
[[nodiscard]] View PackedMemory(Lowering& lowering, const Product& product,
                                const TileSchedule& tile);

/// Appends the loops that pack matrix [n, g] of `w` [n, g, depth, channels] into `packed`.
void WritePacking(KernelWriter& writer, const VectorUnit& unit, const TileSchedule& tile,
                  const View& w, const View& packed, const Expr& n, const Expr& g, Body& body);

}  // namespace msc::native
