#pragma once

#include <cstdint>
#include <functional>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/schedule.h"

namespace msc::native {

/// Y[n, g, c, h, w] = sum over taps (kh, kw) and depth k of
///     X[n, g, k, h*stride_h + kh*dilation_h, w*stride_w + kw*dilation_w] * W[g, c, k, kh, kw]
/// A matrix product is the case of one tap, its rows along w, its batch along n and g.
struct Product {
  View x;  ///< dims n, g, k, h, w with k side by side, from the first tap of the first pixel on
  std::int64_t channels = 1;  ///< c
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;

  [[nodiscard]] std::int64_t groups() const { return x.dims[1]; }
  [[nodiscard]] std::int64_t depth() const { return x.dims[2]; }
};

/// [n, channels, h, w] as [n, groups, channels of a group, h, w].
[[nodiscard]] View SplitGroups(const View& view, std::int64_t groups);

/// How the channels of one group are cut: `full` tiles of `width`, then what is left over.
struct ChannelTiles {
  std::int64_t width;
  std::int64_t full;
  int edge_vectors;  ///< of the tile behind the full ones; 0 where there is none
  int edge_valid;    ///< lanes of its last vector that exist; 0 for all

  ChannelTiles(std::int64_t channels, int lanes, int vectors);
  [[nodiscard]] std::int64_t count() const { return full + (edge_vectors > 0 ? 1 : 0); }
  /// Channels of all tiles, those that do not exist too.
  [[nodiscard]] std::int64_t padded(int lanes) const {
    return full * width + std::int64_t{edge_vectors} * lanes;
  }
};

/// Weights in the order the kernel reads them: tiles of channels, in each the taps, the depth, the
/// channels (zeros for those that do not exist). `at` gives W[g, c, k, kh, kw].
using WeightAt = std::function<float(std::int64_t g, std::int64_t c, std::int64_t k,
                                     std::int64_t kh, std::int64_t kw)>;
[[nodiscard]] View PackWeights(Lowering& lowering, const Product& product, const TileSchedule& tile,
                               const WeightAt& at);

/// The loops: register tiles of tile.columns pixels by tile.vectors vectors of channels, all of the
/// depth summed in registers. Views of the epilogue have dims n, g, c, h, w. `kind` is that of the
/// outermost loop.
[[nodiscard]] Body ProductBody(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                               const TileSchedule& tile, const View& weights,
                               const Epilogue& epilogue,
                               kernel::LoopKind kind = kernel::LoopKind::kParallel);

/// The same for one n and group, with weights of that group alone.
[[nodiscard]] Body ProductOf(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                             const TileSchedule& tile, const View& weights,
                             const Epilogue& epilogue, const Expr& n, const Expr& group);

}  // namespace msc::native
