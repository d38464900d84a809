#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "compiler/targets/native/lowering.h"
#include "compiler/targets/native/schedule.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

struct Product;

/// Elements `first`, `first + stride`, ... of weights: f32, bf16 or i8.
void ReadWeightsAt(const Tensor& weights, std::int64_t first, std::int64_t stride,
                   std::span<float> out);

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

/// Weights in the order the kernel reads them: tiles of channels, in each the taps, the steps of
/// the depth, the channels, the entries of a step (zeros for those that do not exist).
struct PackedWeights {
  View weights;
  View start;  ///< bytes: what the sums of each channel start from, i32, tiles as above
};
/// Writes W[g, c, k, kh, kw] for all k to `out`. Called by several threads at once.
using ReadWeights = std::function<void(std::int64_t g, std::int64_t c, std::int64_t kh,
                                       std::int64_t kw, std::span<float> out)>;
[[nodiscard]] PackedWeights PackWeights(Lowering& lowering, const Product& product,
                                        const TileSchedule& tile, const ReadWeights& read);

}  // namespace msc::native
