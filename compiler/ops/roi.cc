#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Pools over regions of interest of images X [N, C, H, W], to Y [R, C, rows, columns].
//
//   RoiAlign-16 (X, rois [R, 4], batch_indices i64 [R])   regions x1, y1, x2, y2
//   MaxRoiPool-1 (X, rois [R, 5])                         image, then the region
//
// RoiAlign samples each bin of a region at a grid of points, between pixels, and returns the mean
// or the maximum. MaxRoiPool rounds the region to pixels. Sources: ONNX operator pages RoiAlign-16
// and MaxRoiPool-1; the maximum of RoiAlign is that of ONNX's reference implementation.

namespace msc {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
/// Most points along an axis of a bin. Regions come from tensors, and could be of any size.
constexpr std::int64_t kMaxPoints = 16384;

enum Input : std::size_t { kX, kRois, kImages };

/// Returns the shape of Y; rejects inputs that do not fit.
std::vector<ValueType> InferPool(const InferInput& in, std::int64_t columns, const Dims& bins) {
  const Node& node = *in.node;
  RequireType(in, kX, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  DType dtype = RequireSameType(in, kX, kRois);
  for (const std::int64_t count : bins) {
    if (count < 1 || count >= kMaxExtent) RejectNode(node, "the pooled size is out of range");
  }
  const Shape* x = ShapeOf(in, kX);
  const Shape* rois = ShapeOf(in, kRois);
  if (x != nullptr && x->size() != 4) {
    RejectNode(node, "X of shape " + ToString(*x) + " must have 4 dimensions");
  }
  if (rois != nullptr &&
      (rois->size() != 2 || ((*rois)[1].known() && (*rois)[1] != Dim(columns)))) {
    RejectNode(node, "rois of shape " + ToString(*rois) + " must have " + std::to_string(columns) +
                         " numbers each");
  }
  return OneOutput(dtype, Shape{rois == nullptr ? Dim() : rois->front(),
                                x == nullptr ? Dim() : (*x)[1], bins[0], bins[1]});
}

std::vector<ValueType> InferRoiAlign(const InferInput& in) {
  const Node& node = *in.node;
  const std::string mode = AttrOr(node, "mode", std::string("avg"));
  if (mode != "avg" && mode != "max") RejectNode(node, "attribute 'mode' cannot be '" + mode + "'");
  const std::string place =
      AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel"));
  if (place != "half_pixel" && place != "output_half_pixel") {
    RejectNode(node, "attribute 'coordinate_transformation_mode' cannot be '" + place + "'");
  }
  const std::int64_t ratio = AttrOr(node, "sampling_ratio", std::int64_t{0});
  if (ratio < 0 || ratio > kMaxPoints) RejectNode(node, "sampling_ratio is out of range");
  RequireType(in, kImages, {DType::kI64});
  std::vector<ValueType> types = InferPool(in, 4,
                                           {AttrOr(node, "output_height", std::int64_t{1}),
                                            AttrOr(node, "output_width", std::int64_t{1})});
  if (const Shape* images = ShapeOf(in, kImages); images != nullptr) {
    if (images->size() != 1) RejectNode(node, "batch_indices must be a list");
    Dim& regions = types[0].shape->front();
    regions = MergeDims(node, regions, images->front());
  }
  return types;
}

/// A point along an axis: the pixels around it, and how near it is to them.
struct Point {
  std::size_t low = 0;
  std::size_t high = 0;
  double low_weight = 0.0;
  double high_weight = 0.0;
};

/// Points of one bin along an axis.
struct BinPoints {
  std::vector<Point> inside;
  std::int64_t count = 0;  ///< with those outside the image, whose value is 0
};

/// One axis of a region, in pixels.
template <class T>
struct Extent {
  T start{};
  T length{};
};

/// Returns the points of bin `index` of `bins` along an axis of an image.
template <class T>
BinPoints PointsOf(const Node& node, const Extent<T>& extent, std::int64_t index, std::int64_t bins,
                   std::int64_t pixels) {
  const T bin = extent.length / static_cast<T>(bins);
  const std::int64_t ratio = AttrOr(node, "sampling_ratio", std::int64_t{0});
  const T wanted = ratio > 0 ? static_cast<T>(ratio) : std::ceil(bin);
  // The negated comparison also rejects NaN.
  if (!(wanted <= static_cast<T>(kMaxPoints))) RejectNode(node, "a region is too large");
  BinPoints points;
  points.count = wanted > T{0} ? static_cast<std::int64_t>(wanted) : 0;
  const T last = static_cast<T>(pixels - 1);
  for (std::int64_t i = 0; i < points.count; ++i) {
    T at = extent.start + static_cast<T>(index) * bin +
           (static_cast<T>(i) + static_cast<T>(0.5)) * bin / static_cast<T>(points.count);
    // A point that is less than a pixel outside has the value of the border.
    if (!(at >= T{-1} && at <= static_cast<T>(pixels))) continue;
    at = std::clamp(at, T{0}, last);
    Point point{.low = static_cast<std::size_t>(at)};
    point.high = std::min(point.low + 1, static_cast<std::size_t>(pixels - 1));
    point.high_weight = static_cast<double>(at) - static_cast<double>(point.low);
    point.low_weight = 1.0 - point.high_weight;
    points.inside.push_back(point);
  }
  return points;
}

template <class T>
double MeanOf(std::span<const T> plane, std::size_t width, const BinPoints& rows,
              const BinPoints& columns) {
  double sum = 0.0;
  for (const Point& y : rows.inside) {
    const auto low = plane.subspan(y.low * width, width);
    const auto high = plane.subspan(y.high * width, width);
    for (const Point& x : columns.inside) {
      sum += y.low_weight * (x.low_weight * static_cast<double>(low[x.low]) +
                             x.high_weight * static_cast<double>(low[x.high])) +
             y.high_weight * (x.low_weight * static_cast<double>(high[x.low]) +
                              x.high_weight * static_cast<double>(high[x.high]));
    }
  }
  return sum / std::max(static_cast<double>(rows.count) * static_cast<double>(columns.count), 1.0);
}

/// Returns the greatest weighted pixel around any point: ONNX does not add the four of a point.
template <class T>
double GreatestOf(std::span<const T> plane, std::size_t width, const BinPoints& rows,
                  const BinPoints& columns) {
  if (rows.count == 0 || columns.count == 0) return 0.0;
  const bool all = static_cast<std::int64_t>(rows.inside.size()) == rows.count &&
                   static_cast<std::int64_t>(columns.inside.size()) == columns.count;
  double most = all ? -std::numeric_limits<double>::infinity() : 0.0;
  for (const Point& y : rows.inside) {
    const auto low = plane.subspan(y.low * width, width);
    const auto high = plane.subspan(y.high * width, width);
    for (const Point& x : columns.inside) {
      most = std::max({most, y.low_weight * x.low_weight * static_cast<double>(low[x.low]),
                       y.low_weight * x.high_weight * static_cast<double>(low[x.high]),
                       y.high_weight * x.low_weight * static_cast<double>(high[x.low]),
                       y.high_weight * x.high_weight * static_cast<double>(high[x.high])});
    }
  }
  return most;
}

template <class T>
void AlignInto(const Node& node, EvalInputs inputs, Tensor& y) {
  const Dims& x_dims = inputs[kX]->dims();
  const Dims& dims = y.dims();
  const bool mean = AttrOr(node, "mode", std::string("avg")) == "avg";
  const bool half =
      AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel")) == "half_pixel";
  const T scale = static_cast<T>(AttrOr(node, "spatial_scale", 1.0F));
  const auto x = inputs[kX]->Values<T>();
  const auto rois = inputs[kRois]->Values<T>();
  const auto images = inputs[kImages]->Values<std::int64_t>();
  const auto to = y.MutableValues<T>();
  const auto channels = static_cast<std::size_t>(x_dims[1]);
  const auto width = static_cast<std::size_t>(x_dims[3]);
  const std::size_t plane = static_cast<std::size_t>(x_dims[2]) * width;
  for (std::size_t r = 0; r < images.size(); ++r) {
    if (images[r] < 0 || images[r] >= x_dims[0]) {
      RejectNode(node, "there is no image " + std::to_string(images[r]));
    }
    const auto extent_of = [&](std::size_t axis) {
      const T shift = static_cast<T>(half ? 0.5 : 0.0);
      const T start = rois[4 * r + axis] * scale - shift;
      const T length = rois[4 * r + axis + 2] * scale - shift - start;
      // Without the shift by half a pixel, a region has at least one pixel.
      return Extent<T>{.start = start, .length = half ? length : std::max(length, T{1})};
    };
    const Extent<T> across = extent_of(0);
    const Extent<T> down = extent_of(1);
    const auto bins = static_cast<std::size_t>(dims[2] * dims[3]);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const auto at = static_cast<std::int64_t>(bin);
      const BinPoints rows = PointsOf<T>(node, down, at / dims[3], dims[2], x_dims[2]);
      const BinPoints columns = PointsOf<T>(node, across, at % dims[3], dims[3], x_dims[3]);
      for (std::size_t c = 0; c < channels; ++c) {
        const auto pixels =
            x.subspan((static_cast<std::size_t>(images[r]) * channels + c) * plane, plane);
        to[(r * channels + c) * bins + bin] =
            static_cast<T>(mean ? MeanOf<T>(pixels, width, rows, columns)
                                : GreatestOf<T>(pixels, width, rows, columns));
      }
    }
  }
}

std::vector<Tensor> EvalRoiAlign(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferRoiAlign, node, inputs);
  const Tensor& x = *inputs[kX];
  if (outputs[0].size() == 0) return outputs;
  if (x.size() == 0) RejectNode(node, "cannot pool the empty tensor " + ToString(x.dims()));
  WithFloat(node, x.dtype(), [&]<class T>() { AlignInto<T>(node, inputs, outputs[0]); });
  return outputs;
}

Dims PooledShape(const Node& node) {
  Dims bins = AttrOr(node, "pooled_shape", std::vector<std::int64_t>{});
  if (bins.size() != 2) RejectNode(node, "attribute 'pooled_shape' needs 2 entries");
  return bins;
}

std::vector<ValueType> InferMaxRoiPool(const InferInput& in) {
  return InferPool(in, 5, PooledShape(*in.node));
}

/// Pixels [begin, end) of a bin along an axis.
struct Pixels {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns bin `index` of `bins` of the pixels first..last of a region, clipped to the image. T is
/// the type of the regions: the size of a bin is rounded to it.
template <class T>
Pixels PixelsOf(const std::pair<T, T>& ends, std::int64_t index, std::int64_t bins,
                std::int64_t pixels) {
  const auto [first, last] = ends;
  // A region has at least one pixel.
  const T bin = std::max(last - first + T{1}, T{1}) / static_cast<T>(bins);
  const auto clip = [&](T at) {
    return static_cast<std::size_t>(std::clamp(at, T{0}, static_cast<T>(pixels)));
  };
  return {.begin = clip(first + std::floor(static_cast<T>(index) * bin)),
          .end = clip(first + std::ceil(static_cast<T>(index + 1) * bin))};
}

template <class T>
T GreatestIn(std::span<const T> plane, std::size_t width, const Pixels& rows,
             const Pixels& columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return T{0};
  T most = -std::numeric_limits<T>::infinity();
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      most = std::max(most, plane[i * width + j]);
    }
  }
  return most;
}

template <class T>
void PoolInto(const Node& node, EvalInputs inputs, Tensor& y) {
  const Dims& x_dims = inputs[kX]->dims();
  const Dims& dims = y.dims();
  const T scale = static_cast<T>(AttrOr(node, "spatial_scale", 1.0F));
  const auto x = inputs[kX]->Values<T>();
  const auto to = y.MutableValues<T>();
  const auto channels = static_cast<std::size_t>(x_dims[1]);
  const auto width = static_cast<std::size_t>(x_dims[3]);
  const std::size_t plane = static_cast<std::size_t>(x_dims[2]) * width;
  const auto bins = static_cast<std::size_t>(dims[2] * dims[3]);
  for (std::size_t r = 0; r < static_cast<std::size_t>(dims[0]); ++r) {
    const auto roi = inputs[kRois]->Values<T>().subspan(5 * r, 5);
    if (!(roi[0] >= T{0} && roi[0] < static_cast<T>(x_dims[0]))) {
      RejectNode(node, "there is no image " + std::to_string(roi[0]));
    }
    const auto image = static_cast<std::size_t>(roi[0]);
    const auto ends = [&](std::size_t axis) {
      const T first = std::round(roi[1 + axis] * scale);
      const T last = std::round(roi[3 + axis] * scale);
      const auto limit = static_cast<T>(kMaxExtent);
      if (!(std::abs(first) < limit && std::abs(last) < limit)) {
        RejectNode(node, "a region is too large");
      }
      return std::pair(first, last);
    };
    const std::pair<T, T> across = ends(0);
    const std::pair<T, T> down = ends(1);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const auto at = static_cast<std::int64_t>(bin);
      const Pixels rows = PixelsOf<T>(down, at / dims[3], dims[2], x_dims[2]);
      const Pixels columns = PixelsOf<T>(across, at % dims[3], dims[3], x_dims[3]);
      for (std::size_t c = 0; c < channels; ++c) {
        const auto pixels = x.subspan((image * channels + c) * plane, plane);
        to[(r * channels + c) * bins + bin] = GreatestIn<T>(pixels, width, rows, columns);
      }
    }
  }
}

std::vector<Tensor> EvalMaxRoiPool(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMaxRoiPool, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  WithFloat(node, inputs[kX]->dtype(), [&]<class T>() { PoolInto<T>(node, inputs, outputs[0]); });
  return outputs;
}

}  // namespace

void RegisterRoiOps(OpRegistry& ops) {
  ops.Add(
      {.name = "RoiAlign",
       .inputs = {3, 3},
       .attrs = {{.name = "coordinate_transformation_mode", .otherwise = std::string("half_pixel")},
                 {.name = "mode", .otherwise = std::string("avg")},
                 {.name = "output_height", .otherwise = std::int64_t{1}},
                 {.name = "output_width", .otherwise = std::int64_t{1}},
                 {.name = "sampling_ratio", .otherwise = std::int64_t{0}},
                 {.name = "spatial_scale", .otherwise = 1.0F}},
       .infer = InferRoiAlign,
       .eval = ViaF32(EvalRoiAlign),
       .flops = [](const Node& node, std::span<const ValueType> /*in*/,
                   std::span<const ValueType> out) {
         const std::int64_t ratio = AttrOr(node, "sampling_ratio", std::int64_t{0});
         // Four products and sums a point; how many points there are depends on the regions.
         const auto points = static_cast<double>(std::max<std::int64_t>(ratio * ratio, 1));
         return 8.0 * points * ElementsOf(out[0]);
       }});
  ops.Add({.name = "MaxRoiPool",
           .inputs = {2, 2},
           .attrs = {{.name = "pooled_shape",
                      .otherwise = std::vector<std::int64_t>{},
                      .required = true},
                     {.name = "spatial_scale", .otherwise = 1.0F}},
           .infer = InferMaxRoiPool,
           .eval = ViaF32(EvalMaxRoiPool),
           .flops = OneFlopEach});
}

}  // namespace msc
