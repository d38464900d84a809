#include "compiler/ops/window_infer.h"

#include <algorithm>
#include <string>

#include "compiler/ops/eval.h"
#include "compiler/ops/infer.h"

namespace msc {
namespace {

// The kernels loop over depth, height and width.
constexpr std::size_t kMaxSpatial = 3;

/// Returns the sizes of dims[2...]; -1 if unknown.
Dims SpatialOf(const Shape& shape) {
  Dims sizes;
  for (std::size_t i = 2; i < shape.size(); ++i) sizes.push_back(shape[i].size());
  return sizes;
}

void RequireSpatialRank(const InferInput& in, const Shape& x) {
  if (x.size() >= 3 && x.size() <= 2 + kMaxSpatial) return;
  RejectNode(*in.node, "input 0 of shape " + ToString(x) + " must have 3 to 5 dimensions");
}

/// Appends the output sizes of `window` over `x_spatial` to `shape`.
void AppendPositions(const Node& node, const Window& window, const Dims& x_spatial, Shape& shape) {
  for (std::size_t i = 0; i < x_spatial.size(); ++i) {
    if (x_spatial[i] < 0) {
      shape.emplace_back();
      continue;
    }
    const std::int64_t positions = WindowPositions(window, i, x_spatial[i], RoundingOf(node));
    if (positions == 0) {
      RejectNode(node, "the kernel " + ToString(window.kernel) + " does not fit the padded input " +
                           ToString(x_spatial));
    }
    shape.emplace_back(positions);
  }
}

}  // namespace

std::vector<AttrSpec> WindowAttrs(WindowKind kind) {
  // An empty list stands for a value that ReadWindow derives.
  const std::vector<std::int64_t> derived;
  std::vector<AttrSpec> attrs{{.name = "auto_pad", .otherwise = std::string("NOTSET")},
                              {.name = "kernel_shape", .otherwise = derived},
                              {.name = "pads", .otherwise = derived},
                              {.name = "strides", .otherwise = derived}};
  if (kind == WindowKind::kConv) {
    attrs.push_back({.name = "dilations", .otherwise = derived});
    attrs.push_back({.name = "group", .otherwise = std::int64_t{1}});
    return attrs;
  }
  attrs[1].required = true;
  attrs.push_back({.name = "ceil_mode", .otherwise = std::int64_t{0}});
  attrs.push_back({.name = "dilations", .otherwise = derived});
  if (kind == WindowKind::kMaxPool) {
    attrs.push_back({.name = "storage_order", .otherwise = std::int64_t{0}});
  } else {
    attrs.push_back({.name = "count_include_pad", .otherwise = std::int64_t{0}});
  }
  return attrs;
}

Rounding RoundingOf(const Node& node) {
  return AttrOr(node, "ceil_mode", std::int64_t{0}) != 0 ? Rounding::kCeil : Rounding::kFloor;
}

std::optional<Shape> ConvOutputShape(const InferInput& in) {
  const Node& node = *in.node;
  const Shape* x = ShapeOf(in, 0);
  const Shape* w = ShapeOf(in, 1);
  if (x != nullptr) RequireSpatialRank(in, *x);
  if (x == nullptr || w == nullptr) return std::nullopt;
  if (w->size() != x->size()) {
    RejectNode(node, "X " + ToString(*x) + " and W " + ToString(*w) + " must have equal ranks");
  }
  const Dims x_spatial = SpatialOf(*x);
  const Dims w_kernel = SpatialOf(*w);
  const bool kernel_known =
      std::none_of(w_kernel.begin(), w_kernel.end(), [](std::int64_t k) { return k < 0; });
  const auto attr_kernel = AttrOr(node, "kernel_shape", std::vector<std::int64_t>{});
  Shape y{(*x)[0], (*w)[0]};
  if (!kernel_known && attr_kernel.empty()) {
    y.resize(x->size());
    return y;
  }
  const Window window = ReadWindow(node, x_spatial, w_kernel);
  const Dim& channels = (*x)[1];
  const Dim& group_channels = (*w)[1];
  if (channels.known() && group_channels.known() &&
      (channels.size() % window.group != 0 ||
       channels.size() / window.group != group_channels.size())) {
    RejectNode(node, "X " + ToString(*x) + " has " + std::to_string(channels.size()) +
                         " channels but W " + ToString(*w) + " in " + std::to_string(window.group) +
                         " groups takes another number");
  }
  if (y[1].known() && y[1].size() % window.group != 0) {
    RejectNode(node, "W " + ToString(*w) + " cannot be split in " + std::to_string(window.group) +
                         " groups");
  }
  if (const Shape* bias = ShapeOf(in, 2); bias != nullptr) {
    if (bias->size() != 1) RejectNode(node, "the bias must be a list, not " + ToString(*bias));
    y[1] = MergeDims(node, y[1], bias->front());
  }
  AppendPositions(node, window, x_spatial, y);
  return y;
}

ConvProblem ConvProblemOf(const Node& node, const Tensor& x, const Tensor& w, const Tensor& y) {
  const auto tail = [](const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); };
  return {.batch = x.dims()[0],
          .in_channels = x.dims()[1],
          .out_channels = w.dims()[0],
          .in = tail(x.dims()),
          .out = tail(y.dims()),
          .window = ReadWindow(node, tail(x.dims()), tail(w.dims()))};
}

double ConvFlops(const Node& node, std::span<const ValueType> in, std::span<const ValueType> out) {
  const double y = ElementsOf(out[0]);
  const auto w = in[1].shape ? StaticDims(*in[1].shape) : std::nullopt;
  // The weights of one output channel, C / group * kernel, are the products per output.
  if (!w || w->empty() || w->front() == 0) return 0.0;
  const double per_output = ElementsOf(in[1]) / static_cast<double>(w->front());
  const bool biased = node.HasInput(2);
  return y * (2.0 * per_output + (biased ? 1.0 : 0.0));
}

std::optional<Shape> PoolOutputShape(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return std::nullopt;
  RequireSpatialRank(in, *x);
  const Dims x_spatial = SpatialOf(*x);
  const Window window = ReadWindow(*in.node, x_spatial, {});
  for (std::size_t i = 0; i < x_spatial.size(); ++i) {
    // Otherwise a window could lie entirely in the padding and have no element.
    const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (window.pads_begin[i] >= extent || window.pads_end[i] >= extent) {
      RejectNode(*in.node,
                 "the padding must be smaller than the kernel " + ToString(window.kernel));
    }
  }
  Shape y{(*x)[0], (*x)[1]};
  AppendPositions(*in.node, window, x_spatial, y);
  return y;
}

std::optional<Shape> GlobalPoolOutputShape(const InferInput& in) {
  RequireRank(in, 0, 3);
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return std::nullopt;
  Shape y(x->size(), Dim(1));
  y[0] = (*x)[0];
  y[1] = (*x)[1];
  for (std::size_t i = 2; i < x->size(); ++i) {
    // An average would be 0 / 0, and a maximum would have no element.
    if ((*x)[i] == Dim(0)) {
      RejectNode(*in.node, "cannot pool the empty planes of " + ToString(*x));
    }
  }
  return y;
}

Window WholeWindow(std::int64_t size) {
  return {.kernel = {size},
          .strides = {1},
          .dilations = {1},
          .pads_begin = {0},
          .pads_end = {0},
          .group = 1};
}

double PoolFlops(const Node& node, std::span<const ValueType> in, std::span<const ValueType> out) {
  const auto kernel = AttrOr(node, "kernel_shape", std::vector<std::int64_t>{});
  if (kernel.empty()) return ElementsOf(in[0]);
  double flops = ElementsOf(out[0]);
  for (const std::int64_t size : kernel) flops *= static_cast<double>(size);
  return flops;
}

}  // namespace msc
