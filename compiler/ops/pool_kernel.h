#pragma once

#include <cstdint>

#include "compiler/ops/fused.h"

namespace msc {

enum class PoolKind : std::uint8_t { kMax, kAverage, kAverageWithPadding };

/// A pool over X [planes, in...] to Y [planes, out...]; 1 to 3 spatial axes.
struct PoolProblem {
  PoolKind kind = PoolKind::kMax;
  std::int64_t planes = 0;  ///< batch * channels
  Dims in;
  Dims out;
  Window window;
};

/// Overwrites `y` and, where not null, `argmax` with the position of each maximum in its plane.
/// A NaN in a window is its maximum. Averages are accumulated in double; kAverageWithPadding counts
/// the explicit padding but not what ceil_mode adds beyond it. T is float, double, or an integer
/// of 8 bits (maximum only).
template <class T>
void Pool(const PoolProblem& problem, const T* x, T* y, std::int64_t* argmax);
extern template void Pool(const PoolProblem&, const float*, float*, std::int64_t*);
extern template void Pool(const PoolProblem&, const double*, double*, std::int64_t*);
extern template void Pool(const PoolProblem&, const std::int8_t*, std::int8_t*, std::int64_t*);
extern template void Pool(const PoolProblem&, const std::uint8_t*, std::uint8_t*, std::int64_t*);

}  // namespace msc
