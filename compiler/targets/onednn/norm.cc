#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {

bool LowerSoftmax(Lowering& lowering, NodeId id) {
  using dnnl::softmax_forward;
  const Node& node = lowering.node(id);
  const ValueId x = node.inputs[0];
  const auto dense = DenseDescOf(lowering.graph(), x);
  if (!dense || IsInt8(ElemOf(*dense)) || lowering.graph().constant(x)) return false;
  const Dims dims = DimsOf(lowering.graph(), x);
  const auto rank = static_cast<std::int64_t>(dims.size());
  auto axis = AttrOr<std::int64_t>(node, "axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  // The library is fast if the axis is innermost.
  const std::vector<Desc> layouts = {
      InnermostDesc(dims, {static_cast<std::size_t>(axis)}, ElemOf(*dense)), *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    return softmax_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, layout, static_cast<int>(axis)}, Lowering::NewAttr(),
        lowering.engine());
  });
  if (!pd) return false;
  const Desc made = pd->dst_desc();
  const BufferId from = lowering.In(x, made);
  const auto victim = lowering.Dying(x, id, made);
  const BufferId to = victim ? lowering.OutOver(node.outputs[0], made, *victim)
                             : lowering.Out(node.outputs[0], made);
  lowering.AddPrimitive<softmax_forward>(*pd,
                                         {{DNNL_ARG_SRC, made, from}, {DNNL_ARG_DST, made, to}},
                                         lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerNorm(Lowering& lowering, NodeId id) {
  using dnnl::batch_normalization_forward;
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const auto dense = DenseDescOf(graph, node.inputs[0]);
  if (!dense || IsInt8(ElemOf(*dense)) || dense->dims().size() < 2 || node.inputs.size() != 5 ||
      graph.constant(node.inputs[0]) || AttrOr<std::int64_t>(node, "training_mode", 0) != 0) {
    return false;
  }
  for (std::size_t i = 1; i < 5; ++i) {
    if (!ConstantFloats(graph, node.inputs[i])) return false;
  }
  using dnnl::normalization_flags;
  auto flags = normalization_flags::use_global_stats | normalization_flags::use_scale |
               normalization_flags::use_shift;
  ValueId y = node.outputs[0];
  // A Relu that alone reads the result joins the primitive.
  const NodeId relu = lowering.OnlyReader(y);
  StepLabel label = lowering.LabelOf(id, ElemOf(*dense));
  if (relu != kNoNode && lowering.node(relu).Is("Relu")) {
    flags |= normalization_flags::fuse_norm_relu;
    lowering.Absorb(relu);
    y = lowering.node(relu).outputs[0];
    label.nodes.push_back(lowering.node(relu).name);
  }
  const std::vector<Desc> layouts = {lowering.Here(node.inputs[0]), *dense};
  const auto pd = FirstFast(layouts, [&](const Desc& layout) {
    const batch_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, layout,
                                                 AttrOr(node, "epsilon", 1e-5F), flags);
    return batch_normalization_forward::primitive_desc(desc, Lowering::NewAttr(),
                                                       lowering.engine());
  });
  if (!pd) return false;
  const Desc channel = DenseDesc({dense->dims()[1]}, Elem::f32);
  const BufferId x = lowering.In(node.inputs[0], pd->src_desc());
  const auto victim = lowering.Dying(node.inputs[0], id, pd->dst_desc());
  const BufferId to =
      victim ? lowering.OutOver(y, pd->dst_desc(), *victim) : lowering.Out(y, pd->dst_desc());
  lowering.AddPrimitive<batch_normalization_forward>(
      *pd,
      {{DNNL_ARG_SRC, pd->src_desc(), x},
       {DNNL_ARG_SCALE, channel, lowering.In(node.inputs[1], channel)},
       {DNNL_ARG_SHIFT, channel, lowering.In(node.inputs[2], channel)},
       {DNNL_ARG_MEAN, channel, lowering.In(node.inputs[3], channel)},
       {DNNL_ARG_VARIANCE, channel, lowering.In(node.inputs[4], channel)},
       {DNNL_ARG_DST, pd->dst_desc(), to}},
      label);
  lowering.Finish(y);
  return true;
}

// Returns whether `value` is a constant of `count` f32 elements.
static bool IsVector(const Graph& graph, ValueId value, std::int64_t count) {
  const auto values = ConstantFloats(graph, value);
  return values && static_cast<std::int64_t>(values->size()) == count;
}

bool LowerLayerNorm(Lowering& lowering, NodeId id) {
  using dnnl::layer_normalization_forward;
  using dnnl::normalization_flags;
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = node.inputs[0];
  const auto dense = DenseDescOf(graph, x);
  if (!dense || IsInt8(ElemOf(*dense)) || graph.constant(x)) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) return false;
  }
  const Dims dims = DimsOf(graph, x);
  const auto rank = static_cast<std::int64_t>(dims.size());
  auto axis = AttrOr<std::int64_t>(node, "axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  const std::int64_t columns = ElementCount({dims.begin() + axis, dims.end()});
  const bool has_shift = node.HasInput(2);
  if (!IsVector(graph, node.inputs[1], columns) ||
      (has_shift && !IsVector(graph, node.inputs[2], columns))) {
    return false;
  }
  // The axes from `axis` on form a row.
  const Desc rows = DenseDesc({ElementCount(dims) / columns, columns}, ElemOf(*dense));
  auto flags = normalization_flags::use_scale;
  if (has_shift) flags |= normalization_flags::use_shift;
  const auto pd = TryMake([&] {
    return layer_normalization_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, rows, AttrOr(node, "epsilon", 1e-5F), flags},
        Lowering::NewAttr(), lowering.engine());
  });
  if (!pd || IsSlow(*pd)) return false;
  const Desc weights = DenseDesc({columns}, Elem::f32);
  const BufferId from = lowering.In(x, *dense);
  const auto victim = lowering.Dying(x, id, *dense);
  const BufferId to = victim ? lowering.OutOver(node.outputs[0], *dense, *victim)
                             : lowering.Out(node.outputs[0], *dense);
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, rows, from},
      {DNNL_ARG_SCALE, weights,
       lowering.NewConstant({columns}, *ConstantFloats(graph, node.inputs[1]))},
      {DNNL_ARG_DST, rows, to}};
  if (has_shift) {
    arguments.push_back({DNNL_ARG_SHIFT, weights,
                         lowering.NewConstant({columns}, *ConstantFloats(graph, node.inputs[2]))});
  }
  lowering.AddPrimitive<layer_normalization_forward>(*pd, std::move(arguments),
                                                     lowering.LabelOf(id, ElemOf(*dense)));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::onednn
