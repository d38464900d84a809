#include "cost/analytic/least_work.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace msc::cost {
namespace {

constexpr double kWinogradSaving = 4;

// F(4x4, 3x3) computes a tile of 16 outputs with 36 multiplications instead of 16 * 9.
bool MayBeWinograd(const Graph& graph, const Node& node) {
  if (!node.Is("Conv") || AttrOr(node, "group", std::int64_t{1}) != 1) return false;
  const auto& shape = graph.type(node.inputs[1]).shape;
  const auto strides = AttrOr(node, "strides", std::vector<std::int64_t>());
  return shape && shape->size() == 4 && (*shape)[2] == Dim(3) && (*shape)[3] == Dim(3) &&
         std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 1; });
}

/// Returns the share of a convolution's taps that lie in the image; kernels can skip the others.
/// Returns 0 if sizes or padding are unknown.
double PartInside(const Graph& graph, const Node& node) {
  const auto in = StaticDims(graph.type(node.inputs[0]).shape.value());
  const auto kernel = StaticDims(graph.type(node.inputs[1]).shape.value());
  const auto out = StaticDims(graph.type(node.outputs[0]).shape.value());
  // A share of 0 leaves the bound 0, which always holds.
  if (!in || !kernel || !out) return 0;
  const std::size_t axes = in->size() - 2;
  const auto strides = AttrOr(node, "strides", std::vector<std::int64_t>(axes, 1));
  const auto dilations = AttrOr(node, "dilations", std::vector<std::int64_t>(axes, 1));
  const auto pads = AttrOr(node, "pads", std::vector<std::int64_t>(2 * axes, 0));
  if (AttrOr(node, "auto_pad", std::string("NOTSET")) != "NOTSET") return 0;
  double part = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t taps = (*kernel)[axis + 2];
    const std::int64_t places = (*out)[axis + 2];
    std::int64_t inside = 0;
    for (std::int64_t place = 0; place < places; ++place) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t at = place * strides.at(axis) + tap * dilations.at(axis) - pads.at(axis);
        inside += at >= 0 && at < (*in)[axis + 2] ? 1 : 0;
      }
    }
    part *=
        static_cast<double>(inside) / static_cast<double>(std::max<std::int64_t>(places * taps, 1));
  }
  return part;
}

}  // namespace

double LeastFlops(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Conv") && !node.Is("MatMul") && !node.Is("Gemm")) return 0;
  double flops = CostOf(graph, id).flops;
  if (node.Is("Conv")) flops *= PartInside(graph, node);
  if (MayBeWinograd(graph, node)) flops /= kWinogradSaving;
  return flops;
}

}  // namespace msc::cost
