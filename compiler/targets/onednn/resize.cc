#include "compiler/ops/resize.h"

#include <string>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

// Returns whether the scales of a Resize equal the ratios of its sizes.
bool ScalesAreRatios(const Graph& graph, const Node& node, const Dims& x, const Dims& y) {
  if (node.HasInput(3)) {
    const TensorPtr sizes = graph.constant(node.inputs[3]);
    if (sizes != nullptr && sizes->size() > 0) return true;
  }
  const auto scales = node.HasInput(2) ? ConstantFloats(graph, node.inputs[2]) : std::nullopt;
  if (!scales || scales->size() != x.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double made = static_cast<double>((*scales)[i]) * static_cast<double>(x[i]);
    if (made != static_cast<double>(y[i])) return false;
  }
  return true;
}

// Returns whether the library's nearest neighbour, half_pixel with rounding, chooses the points
// that the node asks for. For integer factors the other usual pairs of modes choose the same
// points.
bool IsLibraryNearest(const Node& node, const Dims& x, const Dims& y) {
  const auto mode = AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel"));
  const auto nearest = AttrOr(node, "nearest_mode", std::string("round_prefer_floor"));
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (y[i] % x[i] != 0) return false;
  }
  if (mode == "asymmetric") return nearest == "floor";
  const bool half = mode == "half_pixel" || mode == "pytorch_half_pixel";
  return half && (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil");
}

bool IsLibraryLinear(const Node& node, const Dims& y) {
  const auto mode = AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel"));
  if (mode == "half_pixel") return true;
  bool longer = true;
  for (std::size_t i = 2; i < y.size(); ++i) longer = longer && y[i] > 1;
  return mode == "pytorch_half_pixel" && longer;
}

}  // namespace

bool LowerResize(Lowering& lowering, NodeId id) {
  using dnnl::resampling_forward;
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  if (!IsPlainResize(node)) return false;
  const ValueId x = node.inputs[0];
  const auto dense = DenseDescOf(graph, x);
  const auto to = DenseDescOf(graph, node.outputs[0]);
  if (!dense || !to || graph.constant(x) || IsInt8(ElemOf(*dense))) return false;
  const Dims from_dims = DimsOf(graph, x);
  const Dims to_dims = DimsOf(graph, node.outputs[0]);
  if (from_dims.size() < 3 || from_dims.size() > 5 || from_dims[0] != to_dims[0] ||
      from_dims[1] != to_dims[1] || !ScalesAreRatios(graph, node, from_dims, to_dims)) {
    return false;
  }
  const auto mode = AttrOr(node, "mode", std::string("nearest"));
  const bool nearest = mode == "nearest" && IsLibraryNearest(node, from_dims, to_dims);
  if (!nearest && !(mode == "linear" && IsLibraryLinear(node, to_dims))) return false;
  const algorithm kind = nearest ? algorithm::resampling_nearest : algorithm::resampling_linear;
  const std::vector<Desc> layouts = {lowering.Here(x), ChannelsLastDesc(from_dims, ElemOf(*dense)),
                                     *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    return resampling_forward::primitive_desc({dnnl::prop_kind::forward_inference, kind, layout,
                                               LikeDesc(layout, to_dims, ElemOf(layout))},
                                              Lowering::NewAttr(), lowering.engine());
  });
  if (!pd) return false;
  const BufferId source = lowering.In(x, pd->src_desc());
  const BufferId result = lowering.Out(node.outputs[0], pd->dst_desc());
  lowering.AddPrimitive<resampling_forward>(
      *pd, {{DNNL_ARG_SRC, pd->src_desc(), source}, {DNNL_ARG_DST, pd->dst_desc(), result}},
      lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
