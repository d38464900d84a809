#include "compiler/ops/register.h"

namespace msc {

void RegisterAllOps(OpRegistry& ops) {
  RegisterActivationOps(ops);
  RegisterArgOps(ops);
  RegisterArrangeOps(ops);
  RegisterAttentionOps(ops);
  RegisterConvOps(ops);
  RegisterConvTransposeOps(ops);
  RegisterElementwiseOps(ops);
  RegisterFusedOps(ops);
  RegisterIndexOps(ops);
  RegisterIntegerOps(ops);
  RegisterJoinOps(ops);
  RegisterLayerNormOps(ops);
  RegisterLossOps(ops);
  RegisterLstmOps(ops);
  RegisterMatMulOps(ops);
  RegisterNormOps(ops);
  RegisterPoolOps(ops);
  RegisterQuantizeOps(ops);
  RegisterRecurrentOps(ops);
  RegisterReduceOps(ops);
  RegisterReshapeOps(ops);
  RegisterResizeOps(ops);
  RegisterShapeOps(ops);
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
