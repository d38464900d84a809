#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// Input elements that one output position along an axis of a Resize reads: `count` indices, all
/// inside the input, with a weight each. Source: ONNX operator page Resize-13.
struct ResizeTaps {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
  std::size_t count = 0;
  bool outside = false;  ///< takes extrapolation_value; only under tf_crop_and_resize
};

/// Returns whether the node has none of the attributes that came after set 17: antialias, axes and
/// keep_aspect_ratio_policy.
[[nodiscard]] bool IsPlainResize(const Node& node);

/// Returns the taps of every output position along an axis that is resized from `in` >= 1 to `out`
/// entries. `scale` is the node's scale, or out / in if the node gives sizes. Only for
/// a plain Resize, and not for tf_crop_and_resize.
[[nodiscard]] std::vector<ResizeTaps> ResizeTapsOf(const Node& node, std::int64_t in,
                                                   std::int64_t out, double scale);

/// Returns the cubic convolution kernel of Keys (1981) with parameter `a`.
[[nodiscard]] double CubicWeight(double a, double distance);

}  // namespace msc
