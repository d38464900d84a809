#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {

/// Returns the indices along an axis that stay: those without a unit (-1), and of units that are
/// kept.
[[nodiscard]] std::vector<std::int64_t> KeptIndices(const std::vector<std::int32_t>& units,
                                                    const std::vector<bool>& kept);

/// The sizes of a tensor viewed as [outer, size, inner bytes] around one axis.
struct AxisView {
  std::size_t outer = 1;
  std::size_t size = 1;
  std::size_t inner_bytes = 1;
};
[[nodiscard]] AxisView ViewAlong(const Tensor& tensor, std::size_t axis);

}  // namespace msc
