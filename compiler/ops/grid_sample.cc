#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/resize.h"

// GridSample-16 (X [N, C, in...], grid [N, out..., r]) -> Y [N, C, out...], with r = 2 or 3 spatial
// axes. The last axis of the grid has the position that an element of Y reads, innermost axis
// first; -1 and 1 are the ends of X. Set 16 has images alone; volumes (r = 3) came with set 20.
//
// AffineGrid-20 (theta [N, r, r + 1], size [N, C, out...]) -> grid [N, out..., r]: evenly spaced
// positions between -1 and 1, transformed by theta.
//
// Sources: ONNX operator pages GridSample-16, GridSample-22, AffineGrid-20.

namespace msc {
namespace {

enum class Mode : std::uint8_t { kNearest, kLinear, kCubic };
enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };

struct Sampling {
  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

Sampling SamplingOf(const Node& node) {
  Sampling sampling;
  const std::string mode = AttrOr(node, "mode", std::string("bilinear"));
  const std::string padding = AttrOr(node, "padding_mode", std::string("zeros"));
  if (mode == "nearest") {
    sampling.mode = Mode::kNearest;
  } else if (mode == "bicubic") {
    sampling.mode = Mode::kCubic;
  } else if (mode != "bilinear") {
    RejectNode(node, "attribute 'mode' cannot be '" + mode + "'");
  }
  if (padding == "border") {
    sampling.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    sampling.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    RejectNode(node, "attribute 'padding_mode' cannot be '" + padding + "'");
  }
  sampling.align_corners = AttrOr(node, "align_corners", std::int64_t{0}) != 0;
  return sampling;
}

/// Rejects a known size that is not `wanted`.
void RequireSize(const InferInput& in, std::size_t index, const Dim& dim, std::size_t wanted) {
  if (!dim.known() || dim.size() == static_cast<std::int64_t>(wanted)) return;
  RejectNode(*in.node, "an axis of input " + std::to_string(index) + " must be " +
                           std::to_string(wanted) + ", not " + std::to_string(dim.size()));
}

std::vector<ValueType> InferGridSample(const InferInput& in) {
  const Node& node = *in.node;
  const Sampling sampling = SamplingOf(node);
  RequireType(in, 1, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const DType dtype = TypeOf(in, 0);
  if (sampling.mode != Mode::kNearest) {
    RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  }
  const Shape* x = ShapeOf(in, 0);
  const Shape* grid = ShapeOf(in, 1);
  for (const Shape* shape : {x, grid}) {
    if (shape == nullptr || shape->size() == 4 || shape->size() == 5) continue;
    RejectNode(node, "an input of shape " + ToString(*shape) + " must have 4 or 5 dimensions");
  }
  if (x != nullptr && grid != nullptr && x->size() != grid->size()) {
    RejectNode(node,
               "X " + ToString(*x) + " and its grid " + ToString(*grid) + " must have equal ranks");
  }
  if (x == nullptr && grid == nullptr) return OneOutput(dtype, std::nullopt);
  Shape y(x != nullptr ? x->size() : grid->size());
  if (x != nullptr) std::copy(x->begin(), x->begin() + 2, y.begin());
  if (grid != nullptr) {
    RequireSize(in, 1, grid->back(), grid->size() - 2);
    y[0] = MergeDims(node, y[0], grid->front());
    std::copy(grid->begin() + 1, grid->end() - 1, y.begin() + 2);
  }
  return OneOutput(dtype, std::move(y));
}

/// Mirrors `x`, which is outside [low, high], at the ends until it is inside.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0.0)) return low;
  const bool below = x < low;
  const double distance = std::fmod(below ? low - x : x - high, 2.0 * range);
  // Within the first range behind an end the position runs away from this end, then back to it.
  const double inwards = distance < range ? distance : 2.0 * range - distance;
  return below ? low + inwards : high - inwards;
}

/// Entries of one axis that a position reads, with their weights.
struct AxisTaps {
  std::array<std::int64_t, 4> index{};  ///< negative outside the axis, where X is 0
  std::array<double, 4> weight{};
  std::size_t count = 0;
};

/// Maps an entry of an unlimited axis to the one that is read instead of it; -1 for 0.
std::int64_t EntryOf(const Sampling& sampling, double entry, std::int64_t size,
                     const std::pair<double, double>& ends) {
  const auto last = static_cast<double>(size - 1);
  if (entry >= 0.0 && entry <= last) return static_cast<std::int64_t>(entry);
  if (sampling.padding == Padding::kZeros) return -1;
  const double inside =
      sampling.padding == Padding::kReflection ? Reflect(entry, ends.first, ends.second) : entry;
  return static_cast<std::int64_t>(std::clamp(inside, 0.0, last));
}

/// Returns what is read along an axis of `size` > 0 entries for a coordinate of the grid. T is the
/// grid's type, in which ONNX computes positions: ties of `nearest` depend on it.
template <class T>
AxisTaps TapsOf(const Sampling& sampling, T coordinate, std::int64_t size) {
  const T length = static_cast<T>(size);
  T position = sampling.align_corners ? (coordinate + T{1}) / T{2} * (length - T{1})
                                      : ((coordinate + T{1}) * length - T{1}) / T{2};
  // To even, the rounding mode of the process.
  if (sampling.mode == Mode::kNearest) position = std::nearbyint(position);
  const double shift = sampling.align_corners ? 0.0 : 0.5;
  const std::pair<double, double> ends = {-shift, static_cast<double>(size - 1) + shift};
  auto x = static_cast<double>(position);
  if (x < ends.first || x > ends.second) {
    if (sampling.padding == Padding::kBorder) {
      x = std::clamp(x, 0.0, static_cast<double>(size - 1));
    } else if (sampling.padding == Padding::kReflection) {
      x = Reflect(x, ends.first, ends.second);
    }
  }
  // What is not a number, or too far away to be an index, is some position outside.
  constexpr double kMost = 1e15;
  constexpr double kOutside = -100.0;
  if (!(std::abs(x) < kMost)) x = kOutside;
  AxisTaps taps;
  const double base = std::floor(x);
  double first = base;
  taps.count = 1;
  taps.weight[0] = 1.0;
  if (sampling.mode == Mode::kLinear) {
    taps.count = 2;
    taps.weight = {1.0 - (x - base), x - base};
  } else if (sampling.mode == Mode::kCubic) {
    taps.count = 4;
    first = base - 1.0;
    constexpr double kCoefficient = -0.75;
    for (std::size_t i = 0; i < taps.count; ++i) {
      taps.weight[i] = CubicWeight(kCoefficient, x - (first + static_cast<double>(i)));
    }
  }
  for (std::size_t i = 0; i < taps.count; ++i) {
    taps.index[i] = EntryOf(sampling, first + static_cast<double>(i), size, ends);
  }
  return taps;
}

/// An element of a plane of X, and its weight.
struct PlaneTap {
  std::size_t offset = 0;
  double weight = 1.0;
};

/// Multiplies the taps of the axes out; leaves those out that are 0.
void CollectTaps(std::span<const AxisTaps> axes, std::span<const std::int64_t> sizes,
                 std::vector<PlaneTap>& taps) {
  taps.assign(1, {});
  std::vector<PlaneTap> next;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    next.clear();
    for (const PlaneTap& tap : taps) {
      for (std::size_t i = 0; i < axes[axis].count; ++i) {
        const std::int64_t index = axes[axis].index[i];
        if (index < 0) continue;
        next.push_back({.offset = tap.offset * static_cast<std::size_t>(sizes[axis]) +
                                  static_cast<std::size_t>(index),
                        .weight = tap.weight * axes[axis].weight[i]});
      }
    }
    taps.swap(next);
  }
}

template <class X>
X ValueOf(const Sampling& sampling, std::span<const X> plane, std::span<const PlaneTap> taps) {
  if (sampling.mode == Mode::kNearest) return taps.empty() ? X{0} : plane[taps.front().offset];
  // Integers have the mode `nearest` alone.
  if constexpr (!std::is_floating_point_v<X>) return X{0};
  double sum = 0.0;
  for (const PlaneTap& tap : taps) sum += tap.weight * static_cast<double>(plane[tap.offset]);
  return static_cast<X>(sum);
}

template <class X, class G>
void SampleInto(const Node& node, const Tensor& x, const Tensor& grid, Tensor& y) {
  const Sampling sampling = SamplingOf(node);
  const std::span<const std::int64_t> sizes = std::span(x.dims()).subspan(2);
  const auto batch = static_cast<std::size_t>(x.dims()[0]);
  const auto channels = static_cast<std::size_t>(x.dims()[1]);
  const std::size_t rank = sizes.size();
  const auto in_plane = static_cast<std::size_t>(ElementCount(sizes));
  const auto out_plane = static_cast<std::size_t>(ElementCount(std::span(y.dims()).subspan(2)));
  const auto from = x.Values<X>();
  const auto places = grid.Values<G>();
  const auto to = y.MutableValues<X>();
  std::vector<AxisTaps> axes(rank);
  std::vector<PlaneTap> taps;
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t at = 0; at < out_plane; ++at) {
      const auto place = places.subspan((n * out_plane + at) * rank, rank);
      for (std::size_t i = 0; i < rank; ++i) {
        axes[i] = TapsOf<G>(sampling, place[rank - 1 - i], sizes[i]);
      }
      CollectTaps(axes, sizes, taps);
      for (std::size_t c = 0; c < channels; ++c) {
        const auto plane = from.subspan((n * channels + c) * in_plane, in_plane);
        to[(n * channels + c) * out_plane + at] = ValueOf<X>(sampling, plane, taps);
      }
    }
  }
}

std::vector<Tensor> EvalGridSample(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGridSample, node, inputs);
  const Tensor& x = *inputs[0];
  const Tensor& grid = *inputs[1];
  if (outputs[0].size() == 0) return outputs;
  if (x.size() == 0) RejectNode(node, "cannot sample the empty planes of " + ToString(x.dims()));
  WithFloat(node, grid.dtype(), [&]<class G>() {
    WithNumber(node, x.dtype(), [&]<class X>() { SampleInto<X, G>(node, x, grid, outputs[0]); });
  });
  return outputs;
}

std::vector<ValueType> InferAffineGrid(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireType(in, 1, {DType::kI64});
  const Shape* theta = ShapeOf(in, 0);
  const auto size = ConstantInts(in, 1);
  const std::optional<std::size_t> length = size ? std::optional(size->size()) : ListLength(in, 1);
  if (length && *length != 4 && *length != 5) {
    RejectNode(node, "the size must have 4 or 5 entries, not " + std::to_string(*length));
  }
  if (theta != nullptr && theta->size() != 3) {
    RejectNode(node, "theta of shape " + ToString(*theta) + " must have 3 dimensions");
  }
  if (theta != nullptr && length) {
    RequireSize(in, 0, (*theta)[1], *length - 2);
    RequireSize(in, 0, (*theta)[2], *length - 1);
  }
  if (!length) return OneOutput(TypeOf(in, 0), std::nullopt);
  Shape grid(*length);
  grid.back() = static_cast<std::int64_t>(*length - 2);
  if (size) {
    constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
    for (const std::int64_t entry : *size) {
      if (entry < 0 || entry >= kMaxExtent) RejectNode(node, "a size is out of range");
    }
    grid[0] = size->front();
    for (std::size_t i = 1; i + 1 < grid.size(); ++i) grid[i] = (*size)[i + 1];
  }
  if (theta != nullptr) grid[0] = MergeDims(node, grid[0], theta->front());
  return OneOutput(TypeOf(in, 0), std::move(grid));
}

/// Returns position `index` of `size` ones between -1 and 1, which are the centres of the first and
/// the last entry (`align_corners`) or the ends of these.
double EvenPosition(std::int64_t index, std::int64_t size, bool align_corners) {
  const auto at = static_cast<double>(index);
  const auto count = static_cast<double>(size);
  if (!align_corners) return (2.0 * at + 1.0) / count - 1.0;
  return size == 1 ? -1.0 : 2.0 * at / (count - 1.0) - 1.0;
}

std::vector<Tensor> EvalAffineGrid(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferAffineGrid, node, inputs);
  const Tensor& theta = *inputs[0];
  const bool align_corners = AttrOr(node, "align_corners", std::int64_t{0}) != 0;
  const Dims& dims = outputs[0].dims();
  const std::size_t rank = dims.size() - 2;
  WithFloat(node, theta.dtype(), [&]<class T>() {
    const auto matrix = theta.Values<T>();
    const auto to = outputs[0].template MutableValues<T>();
    std::vector<std::int64_t> at(rank + 1, 0);  // of the batch and the spatial axes
    for (std::size_t out = 0; out < to.size(); out += rank) {
      for (std::size_t row = 0; row < rank; ++row) {
        const std::size_t first = (static_cast<std::size_t>(at[0]) * rank + row) * (rank + 1);
        auto sum = static_cast<double>(matrix[first + rank]);
        for (std::size_t column = 0; column < rank; ++column) {
          const std::size_t axis = rank - column;  // innermost first
          sum += static_cast<double>(matrix[first + column]) *
                 EvenPosition(at[axis], dims[axis], align_corners);
        }
        to[out + row] = static_cast<T>(sum);
      }
      for (std::size_t i = rank + 1; i > 0 && ++at[i - 1] == dims[i - 1]; --i) at[i - 1] = 0;
    }
  });
  return outputs;
}

double GridSampleFlops(const Node& node, std::span<const ValueType> in,
                       std::span<const ValueType> out) {
  const std::string mode = AttrOr(node, "mode", std::string("bilinear"));
  if (mode == "nearest" || !in[0].shape || in[0].shape->size() < 3) return 0.0;
  const auto rank = static_cast<double>(in[0].shape->size() - 2);
  // A product and a sum for each of 2 or 4 taps an axis.
  return 2.0 * std::pow(mode == "bicubic" ? 4.0 : 2.0, rank) * ElementsOf(out[0]);
}

}  // namespace

void RegisterGridSampleOps(OpRegistry& ops) {
  ops.Add({.name = "GridSample",
           .inputs = {2, 2},
           .attrs = {{.name = "align_corners", .otherwise = std::int64_t{0}},
                     {.name = "mode", .otherwise = std::string("bilinear")},
                     {.name = "padding_mode", .otherwise = std::string("zeros")}},
           .infer = InferGridSample,
           .eval = ViaF32(EvalGridSample),
           .flops = GridSampleFlops});
  ops.Add({.name = "AffineGrid",
           .inputs = {2, 2},
           .attrs = {{.name = "align_corners", .otherwise = std::int64_t{0}}},
           .infer = InferAffineGrid,
           .eval = ViaF32(EvalAffineGrid),
           .flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                       std::span<const ValueType> out) {
             const auto& shape = out[0].shape;
             if (!shape || shape->size() < 3) return 0.0;
             return 2.0 * static_cast<double>(shape->size() - 2) * ElementsOf(out[0]);
           }});
}

}  // namespace msc
