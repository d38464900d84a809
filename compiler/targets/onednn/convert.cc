#include <cmath>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

// Returns scale and zero point of the whole tensor; nullopt if they are per channel.
std::optional<QuantParams> ParamsOf(const Graph& graph, const Node& node) {
  const auto scale = ConstantFloats(graph, node.inputs[1]);
  if (!scale || scale->size() != 1 || !std::isnormal(scale->front())) return std::nullopt;
  QuantParams params{.scale = scale->front(), .zero_point = 0};
  if (node.HasInput(2)) {
    const TensorPtr zero = graph.constant(node.inputs[2]);
    if (zero == nullptr || zero->size() != 1) return std::nullopt;
    if (zero->dtype() == DType::kI8) {
      params.zero_point = zero->Values<std::int8_t>()[0];
    } else if (zero->dtype() == DType::kU8) {
      params.zero_point = zero->Values<std::uint8_t>()[0];
    } else {
      return std::nullopt;
    }
  }
  return params;
}

// Lowers a conversion to one reorder, which also produces the layout that a convolution wants.
bool LowerConversion(Lowering& lowering, NodeId id, const dnnl::primitive_attr& attr) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  const auto to = DenseDescOf(graph, y);
  if (!DenseDescOf(graph, x) || !to || graph.constant(x)) return false;
  const Desc from = lowering.Here(x);
  const Desc otherwise = lowering.LeavesRegion(y) ? *to : WithElem(from, ElemOf(*to));
  const Desc made = WithElem(LayoutWanted(lowering, y).value_or(otherwise), ElemOf(*to));
  StepLabel label = lowering.LabelOf(id, ElemOf(*to));
  label.precision = "";
  const BufferId source = lowering.In(x, from);
  const bool done = lowering.AddReorder({DNNL_ARG_FROM, from, source},
                                        {DNNL_ARG_TO, made, lowering.Out(y, made)}, attr, label);
  if (done) lowering.Finish(y);
  return done;
}

}  // namespace

bool LowerQuantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto params = ParamsOf(lowering.graph(), node);
  const auto from = DenseDescOf(lowering.graph(), node.inputs[0]);
  const auto to = DenseDescOf(lowering.graph(), node.outputs[0]);
  if (!params || !from || !to || ElemOf(*from) != Elem::f32 || !IsInt8(ElemOf(*to))) return false;
  // The reorder multiplies by the inverse of the scale, so a value within an ulp of a tie may round
  // to the other step than after a division.
  return LowerConversion(lowering, id, ScalingAttr(1.0F / params->scale, 0, params->zero_point));
}

bool LowerDequantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto params = ParamsOf(lowering.graph(), node);
  const auto from = DenseDescOf(lowering.graph(), node.inputs[0]);
  const auto to = DenseDescOf(lowering.graph(), node.outputs[0]);
  if (!params || !from || !to || !IsInt8(ElemOf(*from)) || ElemOf(*to) != Elem::f32) return false;
  return LowerConversion(lowering, id, ScalingAttr(params->scale, params->zero_point, 0));
}

bool LowerCast(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto from = DenseDescOf(lowering.graph(), node.inputs[0]);
  const auto to = DenseDescOf(lowering.graph(), node.outputs[0]);
  if (!from || !to || IsInt8(ElemOf(*from)) || IsInt8(ElemOf(*to))) return false;
  return LowerConversion(lowering, id, Lowering::NewAttr());
}

}  // namespace msc::onednn
