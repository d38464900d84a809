#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/targets/onednn/fused.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::convolution_forward;

struct Conv {
  FusedNode fused;
  Window window;
};

// Weights [M, C/group, kernel...] as the library has them: [group, M/group, C/group, kernel...].
Dims GroupedDims(const Dims& dims, std::int64_t group) {
  if (group == 1) return dims;
  Dims grouped = {group, dims[0] / group};
  grouped.insert(grouped.end(), dims.begin() + 1, dims.end());
  return grouped;
}

std::optional<Conv> ReadConv(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const auto epilogue = ReadEpilogue(lowering, id);
  const auto w = DenseDescOf(graph, node.inputs[kFusedW]);
  if (!epilogue || !w) return std::nullopt;
  const Dims x_dims = DimsOf(graph, node.inputs[kFusedX]);
  const Dims w_dims = w->dims();
  if (x_dims.size() < 3 || x_dims.size() > 5 || w_dims.size() != x_dims.size()) return std::nullopt;
  const Elem wanted = IsInt8(epilogue->x) ? Elem::s8 : epilogue->x;
  if (ElemOf(*w) != wanted) return std::nullopt;

  Conv conv{.fused = {.id = id,
                      .epilogue = *epilogue,
                      .x = DenseDesc(x_dims, epilogue->x),
                      .w_source = Desc(),
                      .y = *DenseDescOf(graph, node.outputs[0])},
            .window = ReadWindow(node, {x_dims.begin() + 2, x_dims.end()},
                                 {w_dims.begin() + 2, w_dims.end()})};
  conv.fused.w_source = DenseDesc(GroupedDims(w_dims, conv.window.group), wanted);
  const auto negative = [](std::int64_t pad) { return pad < 0; };
  const Window& window = conv.window;
  if (std::any_of(window.pads_begin.begin(), window.pads_begin.end(), negative) ||
      std::any_of(window.pads_end.begin(), window.pads_end.end(), negative)) {
    return std::nullopt;
  }
  return conv;
}

std::optional<FusedPlan<convolution_forward>> PlanConv(const Lowering& lowering, const Conv& conv) {
  const FusedNode& fused = conv.fused;
  const Window& window = conv.window;
  Dims dilations = window.dilations;  // the library counts the points skipped
  for (std::int64_t& dilation : dilations) --dilation;
  const bool has_bias = !fused.epilogue.bias.empty();
  const Desc bias = has_bias ? DenseDesc({fused.y.dims()[1]}, Elem::f32) : Desc();
  const auto make_pd = [&](Elem dst, const dnnl::primitive_attr& attr) {
    const convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        AnyDesc(fused.x.dims(), ElemOf(fused.x)),
        AnyDesc(fused.w_source.dims(), ElemOf(fused.w_source)), bias, AnyDesc(fused.y.dims(), dst),
        window.strides, dilations, window.pads_begin, window.pads_end);
    return convolution_forward::primitive_desc(desc, attr, lowering.engine());
  };
  return PlanFused<convolution_forward>(fused, make_pd);
}

}  // namespace

bool LowerConv(Lowering& lowering, NodeId id) {
  const auto conv = ReadConv(lowering, id);
  if (!conv) return false;
  const auto plan = PlanConv(lowering, *conv);
  return plan && LowerFused(lowering, conv->fused, *plan);
}

std::optional<Desc> LayoutWanted(const Lowering& lowering, ValueId value) {
  static constexpr std::array<std::string_view, 1> kConvs = {"Conv"};
  const NodeId reader = lowering.ReaderAmong(value, kConvs);
  if (reader == kNoNode) return std::nullopt;
  const auto conv = ReadConv(lowering, reader);
  if (!conv) return std::nullopt;
  const auto plan = PlanConv(lowering, *conv);
  if (!plan) return std::nullopt;
  return plan->pd.src_desc();
}

}  // namespace msc::onednn
