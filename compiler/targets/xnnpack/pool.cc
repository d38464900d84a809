#include <utility>

#include "compiler/targets/xnnpack/rules.h"

namespace msc::xnnpack {
namespace {

std::size_t Size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}
std::uint32_t Count(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

struct PoolNode {
  const Node* node = nullptr;
  std::string op;
  Clamp clamp = {};
  Dims x;
  Dims y;
  std::uint32_t flags = 0;
};

Operator MakeGlobal(const PoolNode& pool) {
  const std::size_t channels = Size(pool.x[1]);
  return MakeOperator([&](xnn_operator_t* op) {
    return xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, pool.clamp.low,
                                                     pool.clamp.high, pool.flags, op);
  });
}

Operator MakeWindowed(const PoolNode& pool, const Window& window) {
  const std::size_t channels = Size(pool.x[1]);
  const auto padded = [&](std::size_t axis) {
    return window.pads_begin[axis] != 0 || window.pads_end[axis] != 0;
  };
  // The library accepts dilated pools but computes wrong results for strides above 1.
  if (window.dilations[0] != 1 || window.dilations[1] != 1) return nullptr;
  // The library takes padding in the order top, right, bottom, left.
  if (pool.op == "MaxPool") {
    return MakeOperator([&](xnn_operator_t* op) {
      return xnn_create_max_pooling2d_nhwc_f32(
          Count(window.pads_begin[0]), Count(window.pads_end[1]), Count(window.pads_end[0]),
          Count(window.pads_begin[1]), Count(window.kernel[0]), Count(window.kernel[1]),
          Count(window.strides[0]), Count(window.strides[1]), 1, 1, channels, channels, channels,
          pool.clamp.low, pool.clamp.high, pool.flags, op);
    });
  }
  // The library divides by the number of values inside the image, not by the window size.
  if (AttrOr(*pool.node, "count_include_pad", std::int64_t{0}) != 0 && (padded(0) || padded(1))) {
    return nullptr;
  }
  return MakeOperator([&](xnn_operator_t* op) {
    return xnn_create_average_pooling2d_nhwc_f32(
        Count(window.pads_begin[0]), Count(window.pads_end[1]), Count(window.pads_end[0]),
        Count(window.pads_begin[1]), Count(window.kernel[0]), Count(window.kernel[1]),
        Count(window.strides[0]), Count(window.strides[1]), channels, channels, channels,
        pool.clamp.low, pool.clamp.high, pool.flags, op);
  });
}

/// Returns whether every window fits: the library drops windows that extend past the padded image.
bool SamePositions(const PoolNode& pool, const Window& window) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (WindowPositions(window, axis, pool.x[axis + 2], Rounding::kFloor) != pool.y[axis + 2]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool LowerPool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto x = lowering.DimsOf(node.inputs[0]);
  const auto y = lowering.DimsOf(node.outputs[0]);
  if (!x || !y || x->size() != 4) return false;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;  // indices
  PoolNode pool{.node = &node, .op = node.op, .x = *x, .y = *y, .flags = lowering.Flags(id)};
  if (node.domain == "msc") {
    pool.op = AttrOr(node, "op", std::string());
    const std::optional<Clamp> clamp = ClampOf(ReadFusedAttrs(node).activation);
    if (!clamp) return false;
    pool.clamp = *clamp;
  }
  const bool global = pool.op == "GlobalAveragePool";
  Operator op;
  if (global) {
    op = MakeGlobal(pool);
  } else {
    const Window window = ReadWindow(node, {x->at(2), x->at(3)}, {});
    if (!SamePositions(pool, window)) return false;
    op = MakeWindowed(pool, window);
  }
  if (!op) return false;
  const auto setup = [dims = *x, global, max = pool.op == "MaxPool"](
                         xnn_operator_t made, std::span<float* const> at, pthreadpool_t threads) {
    const std::size_t n = Size(dims[0]);
    const std::size_t h = Size(dims[2]);
    const std::size_t w = Size(dims[3]);
    if (global) {
      return xnn_setup_global_average_pooling_nwc_f32(made, n, h * w, at[0], at[1], threads);
    }
    return max ? xnn_setup_max_pooling2d_nhwc_f32(made, n, h, w, at[0], at[1], threads)
               : xnn_setup_average_pooling2d_nhwc_f32(made, n, h, w, at[0], at[1], threads);
  };
  const BufferId from = lowering.In(node.inputs[0], Layout::kChannelsLast);
  const BufferId into = lowering.Out(node.outputs[0], Layout::kChannelsLast);
  lowering.Add(std::move(op), setup, {from, into}, id);
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::xnnpack
