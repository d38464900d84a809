#pragma once

#include "compiler/ir/tensor.h"

namespace msc {

/// Returns whether a tensor is of i8 between -64 and 64, as weights of 7 bits are. Any two products
/// of these with u8 then add up to an i16, 2 * 255 * 64 < 2^15, which kernels may make use of.
[[nodiscard]] bool IsNarrow(const Tensor& weights);

}  // namespace msc
