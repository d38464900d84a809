#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "compiler/targets/native/lowering.h"
#include "compiler/targets/native/schedule.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

struct Product;

/// Reads elements `first`, `first + stride`, ... of f32, bf16 or i8 weights into `out`.
void ReadWeightsAt(const Tensor& weights, std::int64_t first, std::int64_t stride,
                   std::span<float> out);

/// How the channels of one group are cut: `full` tiles of `width` channels, then a partial tile.
struct ChannelTiles {
  std::int64_t width;
  std::int64_t full;
  int edge_vectors;  ///< vectors of the partial tile; 0 if there is none
  int edge_valid;    ///< existing lanes of its last vector; 0 for all

  ChannelTiles(std::int64_t channels, int lanes, int vectors);
  [[nodiscard]] std::int64_t count() const { return full + (edge_vectors > 0 ? 1 : 0); }
  /// Returns the channels of all tiles, including padding.
  [[nodiscard]] std::int64_t padded(int lanes) const {
    return full * width + std::int64_t{edge_vectors} * lanes;
  }
};

/// Weights in the order in which a kernel reads them: by tile of channels, tap, step of the depth,
/// channel, and entry of a step. Entries that do not exist are 0.
struct PackedWeights {
  View weights;
  View start;  ///< for bytes: initial sum of each channel, i32, tiled as above
};
/// Writes W[g, c, k, kh, kw] for all k to `out`. Several threads call it at once.
using ReadWeights = std::function<void(std::int64_t g, std::int64_t c, std::int64_t kh,
                                       std::int64_t kw, std::span<float> out)>;
[[nodiscard]] PackedWeights PackWeights(Lowering& lowering, const Product& product,
                                        const TileSchedule& tile, const ReadWeights& read);

}  // namespace msc::native
