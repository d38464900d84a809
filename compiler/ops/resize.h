#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// What one position along an axis of a Resize's output reads: `count` entries of the input, all
/// inside it, each times a weight. ONNX operator page Resize-13.
struct ResizeTaps {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
  std::size_t count = 0;
  bool outside = false;  ///< takes extrapolation_value; under tf_crop_and_resize alone
};

/// Those of every position along an axis of `in` >= 1 entries resized to `out`, by `scale`: what
/// the node says, out / in where it gives sizes. Not for tf_crop_and_resize.
[[nodiscard]] std::vector<ResizeTaps> ResizeTapsOf(const Node& node, std::int64_t in,
                                                   std::int64_t out, double scale);

}  // namespace msc
