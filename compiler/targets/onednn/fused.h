#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <optional>
#include <utility>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// A fused node in the form that the library needs.
struct FusedNode {
  NodeId id = kNoNode;
  Epilogue epilogue;
  /// Dense, with the dims that the primitive needs: those of the value, or fewer if axes are
  /// merged.
  Desc x;
  Desc w_source;  ///< the weights as in the graph, with the dims that the primitive needs
  Desc y;         ///< dense
  ValueId output = kNoValue;  ///< output of the node, or of its last follower
};

/// A primitive descriptor and the way it computes residual, activation and conversion.
template <class Primitive>
struct FusedPlan {
  typename Primitive::primitive_desc pd;
  Way way;
};

/// Returns the label of the main step, which also names the followers that the step computes.
[[nodiscard]] StepLabel LabelOf(const Lowering& lowering, const FusedNode& fused, const Way& way);

/// Buffers of the main primitive of a fused node.
struct FusedBuffers {
  BufferId main;                     ///< destination of the primitive
  std::optional<Argument> residual;  ///< for AddBy::kBinary
};
/// Finds or makes the buffers and adds the steps that must run before the main primitive.
[[nodiscard]] bool PrepareFused(Lowering& lowering, const FusedNode& fused, const Way& way,
                                const Desc& made, FusedBuffers& buffers);
/// Adds the remaining steps: residual, activation, conversion to the type of the output.
[[nodiscard]] bool FinishFused(Lowering& lowering, const FusedNode& fused, const Way& way,
                               const Desc& made, const FusedBuffers& buffers);

/// Returns a plan for the first way with a fast primitive, or else for the first way with any
/// primitive. `make_pd` takes (type of dst, attributes) and may throw dnnl::error.
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

/// Adds the steps of a fused node according to `plan`. Returns false if the library cannot compute
/// one of them.
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
