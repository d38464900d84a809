#include "compiler/ops/pool_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace msc {
namespace {

/// Overlap of one window with one axis.
struct Reach {
  std::int64_t begin = 0;  ///< input index of the first tap, possibly in the padding
  std::int64_t step = 1;   ///< dilation
  std::int64_t first = 0;  ///< taps [first, last) are inside the tensor
  std::int64_t last = 0;
  std::int64_t counted = 0;  ///< taps inside the tensor or its explicit padding
};

Reach ReachOf(const PoolProblem& problem, std::size_t axis, std::int64_t position) {
  const Window& window = problem.window;
  Reach reach;
  reach.step = window.dilations[axis];
  reach.begin = position * window.strides[axis] - window.pads_begin[axis];
  // Tap t lies at begin + t * step, so the number of taps below a limit rounds up.
  const auto taps_below = [&](std::int64_t limit) {
    const std::int64_t room = limit - reach.begin;
    return room <= 0 ? 0 : std::min(window.kernel[axis], (room + reach.step - 1) / reach.step);
  };
  reach.first = taps_below(0);
  reach.last = std::max(reach.first, taps_below(problem.in[axis]));
  // The limit ends the count before the extra padding of ceil_mode, which AveragePool-11 does not
  // count.
  reach.counted = taps_below(problem.in[axis] + window.pads_end[axis]);
  return reach;
}

using Reaches = std::array<Reach, 3>;

/// Calls body(index in the plane) for every element of the window, in memory order.
template <class Body>
void ForEachElement(const Reaches& reaches, const std::array<std::int64_t, 3>& sizes, Body body) {
  const auto& [d, h, w] = reaches;
  for (std::int64_t i = d.first; i < d.last; ++i) {
    for (std::int64_t j = h.first; j < h.last; ++j) {
      const std::int64_t row =
          ((d.begin + i * d.step) * sizes[1] + h.begin + j * h.step) * sizes[2];
      for (std::int64_t k = w.first; k < w.last; ++k) body(row + w.begin + k * w.step);
    }
  }
}

/// A dilated window can step over the whole input and have no element; its mean is then 0.
double MeanOf(double sum, double count) {
  return count > 0.0 ? sum / count : 0.0;
}

template <class T>
bool IsNan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <class T>
T LowestOf() {
  if constexpr (std::is_floating_point_v<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

}  // namespace

template <class T>
void Pool(const PoolProblem& problem, const T* x, T* y, std::int64_t* argmax) {
  std::array<std::int64_t, 3> in{1, 1, 1};
  std::array<std::int64_t, 3> out{1, 1, 1};
  const std::size_t rank = problem.in.size();
  std::copy(problem.in.begin(), problem.in.end(), in.end() - static_cast<std::ptrdiff_t>(rank));
  std::copy(problem.out.begin(), problem.out.end(), out.end() - static_cast<std::ptrdiff_t>(rank));
  const std::int64_t in_plane = in[0] * in[1] * in[2];
  const std::int64_t out_plane = out[0] * out[1] * out[2];
  // All planes share the windows, so these are computed once per position.
  for (std::int64_t position = 0; position < out_plane; ++position) {
    const std::array<std::int64_t, 3> at{position / (out[1] * out[2]), position / out[2] % out[1],
                                         position % out[2]};
    Reaches reaches;
    for (Reach& missing : reaches) missing = {.last = 1, .counted = 1};
    for (std::size_t i = 0; i < rank; ++i) {
      reaches[3 - rank + i] = ReachOf(problem, i, at[3 - rank + i]);
    }
    double count = 1.0;
    for (const Reach& reach : reaches) {
      count *= static_cast<double>(
          problem.kind == PoolKind::kAverageWithPadding ? reach.counted : reach.last - reach.first);
    }
    for (std::int64_t plane = 0; plane < problem.planes; ++plane) {
      const T* from = x + plane * in_plane;
      T& to = y[plane * out_plane + position];
      if (problem.kind != PoolKind::kMax) {
        double sum = 0.0;
        ForEachElement(reaches, in,
                       [&](std::int64_t index) { sum += static_cast<double>(from[index]); });
        to = static_cast<T>(MeanOf(sum, count));
        continue;
      }
      std::int64_t best = -1;
      to = LowestOf<T>();
      ForEachElement(reaches, in, [&](std::int64_t index) {
        // The first element always counts, so that a window of only -infinity has a position;
        // afterwards a greater element or the first NaN replaces the maximum.
        if (best >= 0 && !(from[index] > to) && !(IsNan(from[index]) && !IsNan(to))) return;
        to = from[index];
        best = index;
      });
      // A dilated window can step over the whole input and have no element; 0 is then a valid
      // position.
      if (argmax != nullptr) argmax[plane * out_plane + position] = std::max<std::int64_t>(best, 0);
    }
  }
}

template void Pool(const PoolProblem&, const float*, float*, std::int64_t*);
template void Pool(const PoolProblem&, const double*, double*, std::int64_t*);
template void Pool(const PoolProblem&, const std::int8_t*, std::int8_t*, std::int64_t*);
template void Pool(const PoolProblem&, const std::uint8_t*, std::uint8_t*, std::int64_t*);

}  // namespace msc
