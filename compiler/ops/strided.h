#pragma once

#include <cstdint>

#include "compiler/ir/tensor.h"

namespace msc {

/// A strided read of `dims` elements of a tensor of any type. Position p reads element offset +
/// sum(p[i] * strides[i]). Strides may be 0 or negative.
struct StridedRead {
  Dims dims;
  Dims strides;
  std::int64_t offset = 0;
};
[[nodiscard]] Tensor ReadStrided(const Tensor& x, const StridedRead& read);

/// A copy of `count` elements of `from` at `from_offset` to `to` at `to_offset`; both have the same
/// type.
struct Block {
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::int64_t count = 0;
};
void CopyElements(const Tensor& from, Tensor& to, const Block& block);

}  // namespace msc
