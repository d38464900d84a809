#include <algorithm>
#include <string>
#include <utility>

#include "compiler/ops/fused.h"
#include "compiler/ops/infer.h"

namespace msc {
namespace {

// Attributes stay below 2^31, so that the product of two of them fits in an i64.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

std::vector<std::int64_t> ReadList(const Node& node, const std::string& name, std::size_t count,
                                   std::pair<std::int64_t, std::int64_t> otherwise_and_least) {
  const auto [otherwise, least] = otherwise_and_least;
  auto list = AttrOr(node, name, std::vector<std::int64_t>{});
  if (list.empty()) list.assign(count, otherwise);
  if (list.size() != count) {
    RejectNode(node, "attribute '" + name + "' needs " + std::to_string(count) + " entries, not " +
                         std::to_string(list.size()));
  }
  for (const std::int64_t entry : list) {
    if (entry < least || entry >= kMaxExtent) {
      RejectNode(node, "attribute '" + name + "' cannot hold " + std::to_string(entry));
    }
  }
  return list;
}

void ResolveAutoPad(const Node& node, const Dims& x_spatial, Window& window) {
  const std::string mode = AttrOr(node, "auto_pad", std::string("NOTSET"));
  if (mode == "NOTSET") return;
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    RejectNode(node, "attribute 'auto_pad' cannot be '" + mode + "'");
  }
  for (std::size_t i = 0; i < x_spatial.size(); ++i) {
    window.pads_begin[i] = 0;
    window.pads_end[i] = 0;
    if (mode == "VALID" || x_spatial[i] < 0) continue;
    const std::int64_t stride = window.strides[i];
    // Conv-11 keeps ceil(size / stride) positions under SAME_*; the pads are what these need.
    const std::int64_t positions = (x_spatial[i] + stride - 1) / stride;
    const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t total =
        std::max<std::int64_t>((positions - 1) * stride + extent - x_spatial[i], 0);
    // The larger half of an odd total goes to the end under SAME_UPPER, to the beginning under
    // SAME_LOWER.
    const std::int64_t small = total / 2;
    window.pads_begin[i] = mode == "SAME_UPPER" ? small : total - small;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

}  // namespace

Window ReadWindow(const Node& node, const Dims& x_spatial, const Dims& w_kernel) {
  const std::size_t rank = x_spatial.size();
  Window window;
  window.kernel = AttrOr(node, "kernel_shape", std::vector<std::int64_t>{});
  if (window.kernel.empty()) window.kernel = w_kernel;
  if (window.kernel.size() != rank) {
    RejectNode(node, "attribute 'kernel_shape' needs " + std::to_string(rank) + " entries, not " +
                         std::to_string(window.kernel.size()));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (!w_kernel.empty() && w_kernel[i] >= 0 && w_kernel[i] != window.kernel[i]) {
      RejectNode(node, "attribute 'kernel_shape' is " + ToString(window.kernel) +
                           " but the weights say " + ToString(w_kernel));
    }
    if (window.kernel[i] < 1 || window.kernel[i] >= kMaxExtent) {
      RejectNode(node, "a kernel cannot be of size " + ToString(window.kernel));
    }
  }
  window.strides = ReadList(node, "strides", rank, {1, 1});
  window.dilations = ReadList(node, "dilations", rank, {1, 1});
  const auto pads = ReadList(node, "pads", 2 * rank, {0, 0});
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  window.group = AttrOr(node, "group", std::int64_t{1});
  if (window.group < 1) RejectNode(node, "attribute 'group' must be at least 1");
  ResolveAutoPad(node, x_spatial, window);
  return window;
}

std::int64_t WindowPositions(const Window& window, std::size_t axis, std::int64_t size,
                             Rounding rounding) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const std::int64_t room = size + window.pads_begin[axis] + window.pads_end[axis] - extent;
  if (room < 0) return 0;
  std::int64_t positions = room / stride + 1;
  // One more window counts if it exceeds the end but starts before the end padding: a later one
  // would read padding alone.
  if (rounding == Rounding::kCeil && room % stride != 0 &&
      positions * stride < size + window.pads_begin[axis]) {
    ++positions;
  }
  return positions;
}

}  // namespace msc
