#pragma once

#include <cstdint>

#include "compiler/ops/fused.h"

namespace msc {

/// A convolution without bias, Y = X * W. X is [batch, in_channels, in...], W is [out_channels,
/// in_channels / group, kernel...], Y is [batch, out_channels, out...]; all dense, with 1 to 3
/// spatial axes.
struct ConvProblem {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Dims in;   ///< spatial sizes of X
  Dims out;  ///< spatial sizes of Y
  Window window;
};

/// Computes the convolution and overwrites `y`. T is float or double; sums accumulate in T, so
/// integer sums below 2^53 are exact in double. Uses im2col and a matrix product, or direct loops
/// if a group has one input channel.
template <class T>
void Convolve(const ConvProblem& problem, const T* x, const T* w, T* y);
extern template void Convolve(const ConvProblem&, const float*, const float*, float*);
extern template void Convolve(const ConvProblem&, const double*, const double*, double*);

/// C [m, n] = A [m, k] * B [k, n], dense row-major. Floats accumulate as in Convolve; integers wrap
/// around.
struct MatMulProblem {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
};
template <class T>
void MultiplyMatrices(const MatMulProblem& problem, const T* a, const T* b, T* c);
extern template void MultiplyMatrices(const MatMulProblem&, const float*, const float*, float*);
extern template void MultiplyMatrices(const MatMulProblem&, const double*, const double*, double*);
extern template void MultiplyMatrices(const MatMulProblem&, const std::uint32_t*,
                                      const std::uint32_t*, std::uint32_t*);
extern template void MultiplyMatrices(const MatMulProblem&, const std::uint64_t*,
                                      const std::uint64_t*, std::uint64_t*);

}  // namespace msc
