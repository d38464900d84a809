#pragma once

#include <cstdint>
#include <vector>

#include "compiler/targets/native/product.h"

namespace msc::native {

/// Y[n, c, h, p] = sum over k of X[n, k, h, p] * W[c, k], where a prologue computes X: the block of
/// all p at one (n, h) is written to memory of the thread and then multiplied with all weights.
struct MadeRows {
  Dims x_dims;  ///< n, k, h, p
  DType x = DType::kF32;
  std::int64_t x_zero = 0;
  std::vector<std::int32_t> bias = {};  ///< as in Product::bias
  bool narrow = false;                  ///< as Product::narrow
  std::int64_t channels = 1;            ///< c

  [[nodiscard]] std::int64_t depth() const { return x_dims[1]; }
  [[nodiscard]] TileSchedule Tile(const VectorUnit& unit) const;
  /// Returns whether the weights stay in cache, which is what kRowsOuter means: every block reads
  /// all of them.
  [[nodiscard]] bool Pays(const VectorUnit& unit) const {
    return Tile(unit).order == LoopOrder::kRowsOuter;
  }
};

/// Returns how many of `rows`, of `row_bytes` each, form a block: few enough to stay in cache
/// between writing and reading, and to leave blocks for all threads. Divides `rows`.
[[nodiscard]] std::int64_t RowsAtOnce(std::int64_t rows, std::int64_t row_bytes);

/// Writes the loops of the kernel. Views of `chain` have dims n, k, h, p, those of `epilogue` n, 1,
/// c, h, p. `read` is as in PackWeights, for one group and tap.
[[nodiscard]] Body MadeRowsBody(Lowering& lowering, KernelWriter& writer, const MadeRows& rows,
                                const Chain& chain, const Epilogue& epilogue,
                                const ReadWeights& read);

}  // namespace msc::native
