#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace msc::detail {

/// Integers that values are rounded to, relative to the zero point.
struct Levels {
  double least = -127;
  double most = 127;
  /// How many steps beyond them gradients still pass: 0.5 = where x rounds to one of them.
  double reach = 0;
};

/// Returns x, f32, rounded to multiples of `step` (f32): clamp(round(x / step)) * step. Divides, as
/// QuantizeLinear does, and rounds halves to even. `step` has one element, or one for each index
/// along `axis`.
///
/// Gradients are those of LSQ (Esser et al., "Learned step size quantization", 2020, equations 3
/// and 5): that of x passes where x is within reach of the levels, and that of the step is
/// multiplied by `factor`. They do not depend on the number of threads.
[[nodiscard]] at::Tensor FakeQuantize(const at::Tensor& x, const at::Tensor& step, Levels levels,
                                      std::int64_t axis = 0, double factor = 1);

}  // namespace msc::detail
