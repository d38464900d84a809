#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <optional>
#include <utility>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// A fused node as the library sees it.
struct FusedNode {
  NodeId id = kNoNode;
  Epilogue epilogue;
  /// Dense, in the dims the primitive wants: those of the value, or fewer where axes are merged.
  Desc x;
  Desc w_source;  ///< the weights as they are in the graph, in the dims the primitive wants
  Desc y;         ///< dense
  ValueId output = kNoValue;  ///< what is made: the node's output, or that of its last follower
};

/// What MakePd made and how its residual, activation and conversion are done.
template <class Primitive>
struct FusedPlan {
  typename Primitive::primitive_desc pd;
  Way way;
};

/// Of the main step: it names the followers that it does, too.
[[nodiscard]] StepLabel LabelOf(const Lowering& lowering, const FusedNode& fused, const Way& way);

/// The buffers around the main primitive of a fused node.
struct FusedBuffers {
  BufferId main;                     ///< what the primitive writes
  std::optional<Argument> residual;  ///< for AddBy::kBinary
};
/// Finds or makes them, with the steps that must come before.
[[nodiscard]] bool PrepareFused(Lowering& lowering, const FusedNode& fused, const Way& way,
                                const Desc& made, FusedBuffers& buffers);
/// Adds what is left to do: residual, PRelu, conversion to the type of the output.
[[nodiscard]] bool FinishFused(Lowering& lowering, const FusedNode& fused, const Way& way,
                               const Desc& made, const FusedBuffers& buffers);

/// The first way the library has a fast primitive for, else the first it has one for at all.
/// `make_pd` takes (type of dst, attributes) and throws dnnl::error.
template <class Primitive, class MakePd>
std::optional<FusedPlan<Primitive>> PlanFused(const FusedNode& fused, const MakePd& make_pd) {
  std::optional<FusedPlan<Primitive>> slow;
  for (const Way& way : WaysOf(fused.epilogue)) {
    const Elem r = fused.epilogue.r.value_or(Elem::f32);
    const auto pd = TryMake(
        [&] { return make_pd(way.dst, AttrOf(fused.epilogue, way, AnyDesc(fused.y.dims(), r))); });
    if (!pd) continue;
    if (!IsSlow(*pd)) return FusedPlan<Primitive>{*pd, way};
    if (!slow) slow = FusedPlan<Primitive>{*pd, way};
  }
  return slow;
}

template <class Primitive>
bool LowerFused(Lowering& lowering, FusedNode fused, const FusedPlan<Primitive>& plan) {
  const auto& pd = plan.pd;
  fused.output = lowering.node(fused.id).outputs[0];
  if (plan.way.follow) {
    fused.output = fused.epilogue.followers.output;
    for (const NodeId follower : fused.epilogue.followers.nodes) lowering.Absorb(follower);
  }
  const Node& node = lowering.node(fused.id);
  std::vector<Argument> arguments;
  const ValueId x = node.inputs[kFusedX];
  arguments.push_back(
      {DNNL_ARG_SRC, pd.src_desc(), lowering.In(x, lowering.AsValue(x, pd.src_desc()))});
  arguments.push_back({DNNL_ARG_WEIGHTS, pd.weights_desc(),
                       lowering.Weights(node.inputs[kFusedW], fused.w_source, pd.weights_desc())});
  if (!fused.epilogue.bias.empty()) {
    const Dims channels = pd.bias_desc().dims();
    const auto bias = BiasOf(fused.epilogue, static_cast<std::size_t>(channels[0]));
    arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc(), lowering.NewConstant(channels, bias)});
  }
  FusedBuffers buffers{};
  if (!PrepareFused(lowering, fused, plan.way, pd.dst_desc(), buffers)) return false;
  if (buffers.residual) {
    buffers.residual->index = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
    arguments.push_back(*buffers.residual);
  }
  arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), buffers.main});
  lowering.AddPrimitive<Primitive>(pd, std::move(arguments), LabelOf(lowering, fused, plan.way));
  return FinishFused(lowering, fused, plan.way, pd.dst_desc(), buffers);
}

}  // namespace msc::onednn
