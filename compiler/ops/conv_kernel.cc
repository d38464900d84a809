#include "compiler/ops/conv_kernel.h"

#include <algorithm>
#include <array>

#include <Eigen/Core>

namespace msc {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Source = Eigen::Map<const Matrix<T>>;
template <class T>
using Target = Eigen::Map<Matrix<T>>;

/// Entries of one im2col block: about the size of an L2 cache.
constexpr std::int64_t kBlockEntries = std::int64_t{1} << 18;

/// Sizes of one spatial axis.
struct Axis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;

  /// Range [begin, end) of output positions whose input at kernel tap `tap` lies inside the tensor.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] std::int64_t Offset(std::int64_t tap) const { return tap * dilation - pad; }
  [[nodiscard]] Range Inside(std::int64_t tap) const {
    const std::int64_t offset = Offset(tap);
    // Position i reads input i * stride + offset. Both bounds are the first i at which that reaches
    // a limit, 0 or `in`, so both divisions round up.
    const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t end = in - offset <= 0 ? 0 : (in - offset + stride - 1) / stride;
    return {std::min(begin, out), std::clamp(end, std::min(begin, out), out)};
  }
};

/// Depth, height and width; missing leading axes have size 1.
using Axes = std::array<Axis, 3>;

Axes AxesOf(const ConvProblem& problem) {
  Axes axes;
  const std::size_t rank = problem.in.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const Window& window = problem.window;
    // The spatial axes of the problem are the last of the three; those before keep size 1.
    axes[3 - rank + i] = {.in = problem.in[i],
                          .out = problem.out[i],
                          .kernel = window.kernel[i],
                          .stride = window.strides[i],
                          .dilation = window.dilations[i],
                          .pad = window.pads_begin[i]};
  }
  return axes;
}

/// Calls body(tap index, {kd, kh, kw}) for every kernel tap, in the order of the weights.
template <class Body>
void ForEachTap(const Axes& axes, Body body) {
  std::int64_t tap = 0;
  for (std::int64_t d = 0; d < axes[0].kernel; ++d) {
    for (std::int64_t h = 0; h < axes[1].kernel; ++h) {
      for (std::int64_t w = 0; w < axes[2].kernel; ++w) {
        body(tap++, std::array<std::int64_t, 3>{d, h, w});
      }
    }
  }
}

/// Returns the input row that output row `row` (depth and height combined) reads at a tap, or
/// nullptr if it lies in the padding.
template <class T>
const T* RowAt(const Axes& axes, const T* channel, std::int64_t row,
               const std::array<std::int64_t, 3>& tap) {
  const std::int64_t d = row / axes[1].out * axes[0].stride + axes[0].Offset(tap[0]);
  const std::int64_t h = row % axes[1].out * axes[1].stride + axes[1].Offset(tap[1]);
  if (d < 0 || d >= axes[0].in || h < 0 || h >= axes[1].in) return nullptr;
  return channel + (d * axes[1].in + h) * axes[2].in;
}

/// Computes one output channel from one input channel: adds shifted input rows, without a copy.
template <class T>
void ConvolveChannel(const Axes& axes, const T* x, const T* w, T* y) {
  const std::int64_t rows = axes[0].out * axes[1].out;
  std::fill_n(y, rows * axes[2].out, T{0});
  ForEachTap(axes, [&](std::int64_t index, const std::array<std::int64_t, 3>& tap) {
    const auto [begin, end] = axes[2].Inside(tap[2]);
    const T weight = w[index];
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* from = RowAt(axes, x, row, tap);
      if (from == nullptr) continue;
      T* to = y + row * axes[2].out;
      const std::int64_t offset = axes[2].Offset(tap[2]);
      for (std::int64_t i = begin; i < end; ++i)
        to[i] += weight * from[i * axes[2].stride + offset];
    }
  });
}

/// Fills the im2col block [channels * taps, rows * out width] for the output rows from `first` on.
template <class T>
void FillColumns(const Axes& axes, std::int64_t channels, const T* x, std::int64_t first,
                 Matrix<T>& block) {
  const std::int64_t taps = axes[0].kernel * axes[1].kernel * axes[2].kernel;
  const std::int64_t plane = axes[0].in * axes[1].in * axes[2].in;
  const std::int64_t count = block.cols() / axes[2].out;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    ForEachTap(axes, [&](std::int64_t index, const std::array<std::int64_t, 3>& tap) {
      const auto [begin, end] = axes[2].Inside(tap[2]);
      const std::int64_t offset = axes[2].Offset(tap[2]);
      T* to = block.data() + (channel * taps + index) * block.cols();
      for (std::int64_t row = first; row < first + count; ++row, to += axes[2].out) {
        std::fill_n(to, axes[2].out, T{0});
        const T* from = RowAt(axes, x + channel * plane, row, tap);
        if (from == nullptr) continue;
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * axes[2].stride + offset];
      }
    });
  }
}

bool IsPointwise(const Axes& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const Axis& axis) {
    // A dilation of a kernel of size 1 has no effect. Padding at the end alone makes `out` exceed
    // `in`.
    return axis.kernel == 1 && axis.stride == 1 && axis.pad == 0 && axis.in == axis.out;
  });
}

/// Convolves one group, with several input channels, of one image.
template <class T>
void ConvolveGroup(const Axes& axes, const MatMulProblem& shape, const T* x, const T* w, T* y) {
  const Source<T> weights(w, shape.m, shape.k);
  Target<T> out(y, shape.m, shape.n);
  if (IsPointwise(axes)) {
    // The input itself is then the im2col matrix.
    out.noalias() = weights * Source<T>(x, shape.k, shape.n);
    return;
  }
  const std::int64_t taps = axes[0].kernel * axes[1].kernel * axes[2].kernel;
  const std::int64_t rows = axes[0].out * axes[1].out;
  const std::int64_t step =
      std::clamp<std::int64_t>(kBlockEntries / (shape.k * axes[2].out), 1, rows);
  // A block holds whole output rows, at least one, even if that row exceeds kBlockEntries.
  Matrix<T> block;
  for (std::int64_t first = 0; first < rows; first += step) {
    block.resize(shape.k, std::min(step, rows - first) * axes[2].out);
    FillColumns(axes, shape.k / taps, x, first, block);
    out.middleCols(first * axes[2].out, block.cols()).noalias() = weights * block;
  }
}

}  // namespace

template <class T>
void Convolve(const ConvProblem& problem, const T* x, const T* w, T* y) {
  const Axes axes = AxesOf(problem);
  const std::int64_t group = problem.window.group;
  const std::int64_t in_plane = axes[0].in * axes[1].in * axes[2].in;
  const std::int64_t out_plane = axes[0].out * axes[1].out * axes[2].out;
  const std::int64_t taps = axes[0].kernel * axes[1].kernel * axes[2].kernel;
  const std::int64_t channels = problem.in_channels / group;
  const MatMulProblem shape{
      .m = problem.out_channels / group, .k = channels * taps, .n = out_plane};
  if (out_plane == 0 || shape.m == 0) return;
  // Empty sums are 0. The block size of ConvolveGroup would divide by this 0.
  if (shape.k == 0) {
    std::fill_n(y, problem.batch * problem.out_channels * out_plane, T{0});
    return;
  }
  for (std::int64_t i = 0; i < problem.batch * group; ++i) {
    const T* from = x + i * channels * in_plane;
    // Images and groups are counted together; every image uses the same weights.
    const T* weights = w + i % group * shape.m * shape.k;
    T* to = y + i * shape.m * out_plane;
    // With one input channel a group (a depthwise convolution), im2col would copy each input once
    // per tap for a product of only shape.m rows.
    if (channels > 1) {
      ConvolveGroup(axes, shape, from, weights, to);
      continue;
    }
    for (std::int64_t m = 0; m < shape.m; ++m) {
      ConvolveChannel(axes, from, weights + m * taps, to + m * out_plane);
    }
  }
}

template void Convolve(const ConvProblem&, const float*, const float*, float*);
template void Convolve(const ConvProblem&, const double*, const double*, double*);

template <class T>
void MultiplyMatrices(const MatMulProblem& problem, const T* a, const T* b, T* c) {
  Target<T> out(c, problem.m, problem.n);
  if (problem.k == 0) {
    out.setZero();
    return;
  }
  out.noalias() = Source<T>(a, problem.m, problem.k) * Source<T>(b, problem.k, problem.n);
}

template void MultiplyMatrices(const MatMulProblem&, const float*, const float*, float*);
template void MultiplyMatrices(const MatMulProblem&, const double*, const double*, double*);
template void MultiplyMatrices(const MatMulProblem&, const std::uint32_t*, const std::uint32_t*,
                               std::uint32_t*);
template void MultiplyMatrices(const MatMulProblem&, const std::uint64_t*, const std::uint64_t*,
                               std::uint64_t*);

}  // namespace msc
