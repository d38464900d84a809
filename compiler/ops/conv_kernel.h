#pragma once

#include <cstdint>

#include "compiler/ops/fused.h"

namespace msc {

/// A convolution without bias: Y = X * W.
/// X [batch, in_channels, in...], W [out_channels, in_channels / group, kernel...],
/// Y [batch, out_channels, out...], all dense; 1 to 3 spatial axes.
struct ConvProblem {
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Dims in;   ///< spatial sizes of X
  Dims out;  ///< spatial sizes of Y
  Window window;
};

/// Overwrites `y`. Accumulates in T; sums of integers below 2^53 are exact for double.
/// T is float or double. im2col and a matrix product; plain loops where a group has one channel.
template <class T>
void Convolve(const ConvProblem& problem, const T* x, const T* w, T* y);
extern template void Convolve(const ConvProblem&, const float*, const float*, float*);
extern template void Convolve(const ConvProblem&, const double*, const double*, double*);

/// C [m, n] = A [m, k] * B [k, n], dense row-major. As exact as Convolve; integers wrap around.
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
