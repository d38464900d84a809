#include "compiler/ir/narrow.h"

#include <algorithm>
#include <cstdint>

namespace msc {

bool IsNarrow(const Tensor& weights) {
  if (weights.dtype() != DType::kI8) return false;
  constexpr int kMost = 64;
  const auto values = weights.Values<std::int8_t>();
  return std::all_of(values.begin(), values.end(),
                     [](std::int8_t w) { return w >= -kMost && w <= kMost; });
}

}  // namespace msc
