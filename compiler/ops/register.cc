#include "compiler/ops/register.h"

namespace msc {

void RegisterAllOps(OpRegistry& ops) {
  RegisterActivationOps(ops);
  RegisterArgOps(ops);
  RegisterArrangeOps(ops);
  RegisterAttentionOps(ops);
  RegisterBitOps(ops);
  RegisterCastOps(ops);
  RegisterControlFlowOps(ops);
  RegisterConvOps(ops);
  RegisterConvTransposeOps(ops);
  RegisterDataDependentOps(ops);
  RegisterDeformConvOps(ops);
  RegisterElementwiseOps(ops);
  RegisterFusedOps(ops);
  RegisterGridSampleOps(ops);
  RegisterImageOps(ops);
  RegisterIndexOps(ops);
  RegisterIntegerOps(ops);
  RegisterJoinOps(ops);
  RegisterLayerNormOps(ops);
  RegisterLinearAlgebraOps(ops);
  RegisterLinearAttentionOps(ops);
  RegisterLossOps(ops);
  RegisterLstmOps(ops);
  RegisterMatMulOps(ops);
  RegisterNarrowOps(ops);
  RegisterNmsOps(ops);
  RegisterNormOps(ops);
  RegisterOptionalOps(ops);
  RegisterPoolOps(ops);
  RegisterQuantizeOps(ops);
  RegisterRecurrentOps(ops);
  RegisterReduceOps(ops);
  RegisterReshapeOps(ops);
  RegisterResizeOps(ops);
  RegisterRoiOps(ops);
  RegisterSequenceOps(ops);
  RegisterSequenceOrderOps(ops);
  RegisterShapeOps(ops);
  RegisterSignalOps(ops);
  RegisterSignalWeightOps(ops);
  RegisterStringOps(ops);
  RegisterTfIdfOps(ops);
  RegisterTrainOps(ops);
  RegisterUnpoolOps(ops);
}

const OpRegistry& Ops() {
  static const OpRegistry kOps = [] {
    OpRegistry ops;
    RegisterAllOps(ops);
    return ops;
  }();
  return kOps;
}

}  // namespace msc
