#pragma once

#include <cstdint>
#include <vector>

#include "compiler/targets/native/product.h"

namespace msc::native {

/// Y[n, c, h, p] = sum over k of X[n, k, h, p] * W[c, k], where a prologue makes X: the block of
/// all p at one (n, h) in memory of the thread, which is then multiplied with all weights.
struct MadeRows {
  Dims x_dims;  ///< n, k, h, p
  DType x = DType::kF32;
  std::int64_t x_zero = 0;
  std::vector<std::int32_t> bias = {};  ///< as Product::bias
  std::int64_t channels = 1;            ///< c

  [[nodiscard]] std::int64_t depth() const { return x_dims[1]; }
  [[nodiscard]] TileSchedule Tile(const VectorUnit& unit) const;
  /// Every block reads all weights: they must stay in cache, as the tile's order says they do.
  [[nodiscard]] bool Pays(const VectorUnit& unit) const {
    return Tile(unit).order == LoopOrder::kRowsOuter;
  }
};

/// How many of `rows`, so many bytes each, make a block: what stays in cache between its writing
/// and its reading, and leaves threads something to share. A divisor of `rows`.
[[nodiscard]] std::int64_t RowsAtOnce(std::int64_t rows, std::int64_t row_bytes);

/// Loops of the kernel, named `writer`. Views of `chain` have dims n, k, h, p, those of `epilogue`
/// n, 1, c, h, p. `read` as in PackWeights, of one group and tap.
[[nodiscard]] Body MadeRowsBody(Lowering& lowering, KernelWriter& writer, const MadeRows& rows,
                                const Chain& chain, const Epilogue& epilogue,
                                const ReadWeights& read);

}  // namespace msc::native
