#include "compiler/targets/native/product_weights.h"

#include <algorithm>
#include <cstddef>

#include "compiler/base/error.h"
#include "compiler/base/parallel.h"
#include "compiler/targets/native/product.h"

namespace msc::native {

ChannelTiles::ChannelTiles(std::int64_t channels, int lanes, int vectors)
    : width(std::int64_t{lanes} * vectors), full(channels / width) {
  const std::int64_t rest = channels % width;
  edge_vectors = static_cast<int>((rest + lanes - 1) / lanes);
  edge_valid = static_cast<int>(rest % lanes);
}

namespace {

template <class T, class Convert>
void ReadStrided(std::span<const T> values, std::int64_t first, std::int64_t stride,
                 std::span<float> out, const Convert& convert) {
  const auto last = first + (static_cast<std::int64_t>(out.size()) - 1) * stride;
  Check(out.empty() || (first >= 0 && last < static_cast<std::int64_t>(values.size())),
        "weights are read inside their tensor");
  const T* at = values.data() + first;
  for (float& w : out) {
    w = convert(*at);
    at += stride;
  }
}

}  // namespace

void ReadWeightsAt(const Tensor& weights, std::int64_t first, std::int64_t stride,
                   std::span<float> out) {
  const auto as_float = [](auto w) { return static_cast<float>(w); };
  if (weights.dtype() == DType::kI8) {
    ReadStrided(weights.Values<std::int8_t>(), first, stride, out, as_float);
  } else if (weights.dtype() == DType::kBF16) {
    ReadStrided(weights.Values<std::uint16_t>(), first, stride, out, FromBF16);
  } else {
    ReadStrided(weights.Values<float>(), first, stride, out, as_float);
  }
}

namespace {

/// A channel of a group and the place of its weights.
struct PackedChannel {
  std::int64_t group;
  std::int64_t c;
  std::int64_t first;   ///< position of its first weight
  std::int64_t stride;  ///< distance to the weights of its next step
};

/// Calls make(channel, row) for every channel of every group; `row` has room for the depth. If
/// there is much work, all cores share it by tiles of channels, because the channels of a tile
/// share cache lines.
template <class Make>
void EachChannel(const Product& product, int lanes, const ChannelTiles& tiles, const Make& make) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 18U;
  const std::int64_t padded = tiles.padded(lanes);
  const std::int64_t count = product.groups() * tiles.count();
  const bool much = product.groups() * padded * product.weights() >= kMuch;
  ForEachOnThreads(much ? CoreCount() : 1, static_cast<std::size_t>(count), [&](std::size_t i) {
    const std::int64_t group = static_cast<std::int64_t>(i) / tiles.count();
    const std::int64_t tile = static_cast<std::int64_t>(i) % tiles.count() * tiles.width;
    const std::int64_t width = std::min(tiles.width, padded - tile);
    std::vector<float> row(static_cast<std::size_t>(product.depth()));
    for (std::int64_t c = tile; c < std::min(tile + tiles.width, product.channels); ++c) {
      // Layout: [group][tile of channels][step][channel of the tile][entry of the step].
      const std::int64_t first =
          (group * padded + tile) * product.weights() + (c - tile) * product.step();
      make(PackedChannel{group, c, first, width * product.step()}, std::span<float>(row));
    }
  });
}

/// Calls make(kh, kw) for every tap, after reading its weights into `row`.
template <class Make>
void EachTap(const Product& product, const ReadWeights& read, const PackedChannel& channel,
             std::span<float> row, const Make& make) {
  for (std::int64_t kh = 0; kh < product.kernel_h; ++kh) {
    for (std::int64_t kw = 0; kw < product.kernel_w; ++kw) {
      read(channel.group, channel.c, kh, kw, row);
      make(kh, kw);
    }
  }
}

template <class T, class As>
void PackInto(std::span<T> out, const Product& product, int lanes, const ChannelTiles& tiles,
              const ReadWeights& read, const As& as) {
  const std::int64_t step = product.step();
  const auto put = [&](const PackedChannel& channel, std::int64_t run, std::int64_t entry,
                       std::span<const float> row) {
    const std::int64_t first = channel.first + run * product.run_steps() * channel.stride;
    std::int64_t at = first + entry / step * channel.stride + entry % step;
    std::int64_t left = step - entry % step;  // entries until the next step
    for (const float w : row) {
      out[static_cast<std::size_t>(at)] = as(w);
      if (--left > 0) {
        ++at;
      } else {
        at += channel.stride - step + 1;
        left = step;
      }
    }
  };
  EachChannel(product, lanes, tiles, [&](const PackedChannel& channel, std::span<float> row) {
    // Joined taps of a row share one run, each behind the entries of the previous tap.
    EachTap(product, read, channel, row, [&](std::int64_t kh, std::int64_t kw) {
      put(channel, kh * product.runs() + (product.joined() ? 0 : kw),
          product.joined() ? kw * product.depth() : 0, row);
    });
  });
}

/// Computes the initial sums for bytes: bias + sum (x - zero) w = bias - zero sum w + sum x w.
void PackStarts(std::span<std::int32_t> out, const Product& product, int lanes,
                const ChannelTiles& tiles, const ReadWeights& read) {
  // Kernels read i8 with 128 added.
  // Halos hold the zero point, so that padding counts as (zero - zero) w = 0. The start and partial
  // sums may exceed i32 and wrap around; the whole sum fits (kDeepestBytes).
  const std::int64_t zero = product.x_zero + (product.x.dtype == DType::kI8 ? 128 : 0);
  EachChannel(product, lanes, tiles, [&](const PackedChannel& channel, std::span<float> row) {
    std::int64_t sum = 0;
    EachTap(product, read, channel, row, [&](std::int64_t /*kh*/, std::int64_t /*kw*/) {
      for (const float w : row) sum += static_cast<std::int64_t>(w);
    });
    const auto bias = static_cast<std::size_t>(channel.group * product.channels + channel.c);
    out[static_cast<std::size_t>(channel.group * tiles.padded(lanes) + channel.c)] =
        static_cast<std::int32_t>((product.bias.empty() ? 0 : product.bias[bias]) - zero * sum);
  });
}

}  // namespace

PackedWeights PackWeights(Lowering& lowering, const Product& product, const TileSchedule& tile,
                          const ReadWeights& read) {
  const int lanes = lowering.unit().lanes;
  const ChannelTiles tiles(product.channels, lanes, tile.vectors);
  const std::int64_t padded = product.groups() * tiles.padded(lanes);
  const std::int64_t count = padded * product.weights();
  PackedWeights packed;
  // Weights that were bf16 or i8 pass through f32 unchanged, because f32 holds all their values.
  if (product.x.dtype == DType::kBF16) {
    packed.weights = lowering.Constant(DType::kBF16, count, [&](Tensor& tensor) {
      PackInto(tensor.MutableValues<std::uint16_t>(), product, lanes, tiles, read, ToBF16);
    });
  } else if (!product.bytes()) {
    packed.weights = lowering.Constant(DType::kF32, count, [&](Tensor& tensor) {
      PackInto(tensor.MutableValues<float>(), product, lanes, tiles, read,
               [](float w) { return w; });
    });
  } else {
    packed.weights = lowering.Constant(DType::kI8, count, [&](Tensor& tensor) {
      PackInto(tensor.MutableValues<std::int8_t>(), product, lanes, tiles, read,
               [](float w) { return static_cast<std::int8_t>(w); });
    });
    packed.start = lowering.Constant(DType::kI32, padded, [&](Tensor& tensor) {
      PackStarts(tensor.MutableValues<std::int32_t>(), product, lanes, tiles, read);
    });
  }
  return packed;
}

}  // namespace msc::native
