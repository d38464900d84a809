#include "compiler/targets/onednn/fused.h"

#include "compiler/targets/onednn/elementwise.h"

namespace msc::onednn {
namespace {

StepLabel Part(const Lowering& lowering, NodeId id, const std::string& what) {
  StepLabel label = lowering.LabelOf(id, Elem::f32);
  label.name += " " + what;
  return label;
}

// Writes the residual as f32 in layout `made` into `buffer`.
bool FillWithResidual(Lowering& lowering, const FusedNode& fused, const Desc& made,
                      BufferId buffer) {
  const Epilogue& epilogue = fused.epilogue;
  const bool integer = IsInt8(*epilogue.r);
  const QuantParams& r = epilogue.attrs.r;
  const Desc from = lowering.Here(epilogue.residual);
  const Desc to = lowering.AsValue(epilogue.residual, made);
  const StepLabel label{.name = "copy " + lowering.graph().value(epilogue.residual).name};
  return lowering.AddReorder(
      {DNNL_ARG_FROM, from, lowering.In(epilogue.residual, from)}, {DNNL_ARG_TO, to, buffer},
      integer ? ScalingAttr(r.scale, r.zero_point, 0) : ScalingAttr(1, 0, 0), label);
}

}  // namespace

StepLabel LabelOf(const Lowering& lowering, const FusedNode& fused, const Way& way) {
  StepLabel label = lowering.LabelOf(fused.id, fused.epilogue.x);
  if (!way.follow) return label;
  for (const NodeId id : fused.epilogue.followers.nodes) {
    label.nodes.push_back(lowering.node(id).name);
  }
  return label;
}

bool PrepareFused(Lowering& lowering, const FusedNode& fused, const Way& way, const Desc& made,
                  FusedBuffers& buffers) {
  const Epilogue& epilogue = fused.epilogue;
  const ValueId y = fused.output;
  const bool converts = way.dst != epilogue.y;
  if (way.add == AddBy::kBinary) {
    const Desc wanted = WithElem(made, *epilogue.r);
    buffers.residual = Argument{
        0, wanted, lowering.In(epilogue.residual, lowering.AsValue(epilogue.residual, wanted))};
  }
  if (way.add != AddBy::kSum) {
    buffers.main = converts ? lowering.Scratch(made) : lowering.Out(y, lowering.AsValue(y, made));
    return true;
  }
  // kSum needs the residual in the destination. If this node is its last reader, its buffer becomes
  // the destination.
  const Desc held = lowering.AsValue(y, WithElem(made, way.sum));
  if (way.sum == *epilogue.r && !converts) {
    if (const auto victim = lowering.Dying(epilogue.residual, fused.id, held)) {
      buffers.main = lowering.OutOver(y, lowering.AsValue(y, made), *victim);
      return true;
    }
  }
  buffers.main = converts ? lowering.Scratch(made) : lowering.Out(y, lowering.AsValue(y, made));
  if (way.sum != *epilogue.r) return FillWithResidual(lowering, fused, held, buffers.main);
  const Desc from = lowering.Here(epilogue.residual);
  const StepLabel label{.name = "copy " + lowering.graph().value(epilogue.residual).name};
  return lowering.AddReorder({DNNL_ARG_FROM, from, lowering.In(epilogue.residual, from)},
                             {DNNL_ARG_TO, held, buffers.main}, Lowering::NewAttr(), label);
}

namespace {

bool AddResidual(Lowering& lowering, const FusedNode& fused, const Argument& sums) {
  const Epilogue& epilogue = fused.epilogue;
  const BufferId residual = lowering.Scratch(sums.desc);
  if (!FillWithResidual(lowering, fused, sums.desc, residual)) return false;
  dnnl::primitive_attr attr = Lowering::NewAttr();
  dnnl::post_ops post_ops;
  if (!epilogue.is_prelu() && !AppendActivation(epilogue.attrs.activation, 1.0F, post_ops)) {
    return false;
  }
  attr.set_post_ops(post_ops);
  const auto pd = TryMake([&] {
    return dnnl::binary::primitive_desc(
        {dnnl::algorithm::binary_add, sums.desc, sums.desc, sums.desc}, attr, lowering.engine());
  });
  if (!pd) return false;
  lowering.AddPrimitive<dnnl::binary>(*pd,
                                      {{DNNL_ARG_SRC_0, sums.desc, sums.buffer},
                                       {DNNL_ARG_SRC_1, sums.desc, residual},
                                       {DNNL_ARG_DST, sums.desc, sums.buffer}},
                                      Part(lowering, fused.id, "add"));
  return true;
}

bool ApplyPRelu(Lowering& lowering, const FusedNode& fused, const Argument& sums) {
  const std::vector<float> slope = *ConstantFloats(lowering.graph(), fused.epilogue.slope);
  Dims dims(sums.desc.dims().size(), 1);
  dims[1] = sums.desc.dims()[1];
  const std::vector<float> all =
      slope.size() == 1 ? std::vector<float>(static_cast<std::size_t>(dims[1]), slope[0]) : slope;
  const Desc weights = DenseDesc(dims, Elem::f32);
  const auto pd = TryMake([&] {
    return dnnl::prelu_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, sums.desc, weights}, Lowering::NewAttr(),
        lowering.engine());
  });
  if (!pd || IsSlow(*pd)) return false;
  lowering.AddPrimitive<dnnl::prelu_forward>(
      *pd,
      {{DNNL_ARG_SRC, sums.desc, sums.buffer},
       {DNNL_ARG_WEIGHTS, weights, lowering.NewConstant(dims, all)},
       {DNNL_ARG_DST, sums.desc, sums.buffer}},
      Part(lowering, fused.id, "prelu"));
  return true;
}

bool ApplyActivation(Lowering& lowering, const FusedNode& fused, const Argument& sums) {
  const auto functions = FunctionsOf(fused.epilogue.attrs.activation);
  return !functions.empty() && AddElementwise(lowering, functions, sums.desc, sums.buffer,
                                              sums.buffer, Part(lowering, fused.id, "activation"));
}

}  // namespace

bool FinishFused(Lowering& lowering, const FusedNode& fused, const Way& way, const Desc& made,
                 const FusedBuffers& buffers) {
  const Epilogue& epilogue = fused.epilogue;
  const ValueId y = fused.output;
  const Argument sums{DNNL_ARG_SRC, made, buffers.main};
  if (way.add == AddBy::kAfter && !AddResidual(lowering, fused, sums)) return false;
  if (epilogue.is_prelu() && !ApplyPRelu(lowering, fused, sums)) return false;
  const bool activates_after = !way.activate && way.add != AddBy::kAfter && !epilogue.is_prelu() &&
                               !epilogue.attrs.activation.op.empty();
  if (activates_after && !ApplyActivation(lowering, fused, sums)) return false;
  if (way.dst != epilogue.y) {
    const Desc converted = lowering.AsValue(y, WithElem(made, epilogue.y));
    const QuantParams& q = epilogue.attrs.y;
    const StepLabel label{.name = "convert " + lowering.graph().value(y).name};
    const bool done = lowering.AddReorder(
        {DNNL_ARG_FROM, lowering.AsValue(y, made), buffers.main},
        {DNNL_ARG_TO, converted, lowering.Out(y, converted)},
        IsInt8(epilogue.y) ? ScalingAttr(1.0F / q.scale, 0, q.zero_point) : ScalingAttr(1, 0, 0),
        label);
    if (!done) return false;
  }
  lowering.Finish(y);
  return true;
}

}  // namespace msc::onednn
