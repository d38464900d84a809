#pragma once

#include <cstdint>

#include "compiler/ops/fused.h"

namespace msc {

enum class PoolKind : std::uint8_t { kMax, kAverage, kAverageWithPadding };

/// A pool from X [planes, in...] to Y [planes, out...], with 1 to 3 spatial axes.
struct PoolProblem {
  PoolKind kind = PoolKind::kMax;
  std::int64_t planes = 0;  ///< batch * channels
  Dims in;
  Dims out;
  Window window = {};
};

/// Computes the pool and overwrites `y` and, if not null, `argmax` with the position of each
/// maximum in its plane. A NaN counts as the maximum of its window. Averages accumulate in double;
/// kAverageWithPadding counts explicit padding but not the extra padding of ceil_mode. T is float,
/// double, or an 8-bit integer (maximum only).
template <class T>
void Pool(const PoolProblem& problem, const T* x, T* y, std::int64_t* argmax);
extern template void Pool(const PoolProblem&, const float*, float*, std::int64_t*);
extern template void Pool(const PoolProblem&, const double*, double*, std::int64_t*);
extern template void Pool(const PoolProblem&, const std::int8_t*, std::int8_t*, std::int64_t*);
extern template void Pool(const PoolProblem&, const std::uint8_t*, std::uint8_t*, std::int64_t*);

}  // namespace msc
