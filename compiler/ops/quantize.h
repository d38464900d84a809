#pragma once

#include <cstdint>

#include "compiler/base/dtype.h"

namespace msc {

/// Range of quantized values of i8 or u8; InternalError for other types.
struct QuantRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] QuantRange RangeOf(DType dtype);

/// Returns saturate(round_half_even(scaled) + zero_point). `scaled` is value / scale, in the
/// precision of the caller's choice. NaN gives the zero point.
[[nodiscard]] std::int64_t QuantizeScaled(double scaled, std::int64_t zero_point, QuantRange range);

}  // namespace msc
