#include "compiler/ops/register.h"

namespace msc {

void RegisterAllOps(OpRegistry& ops) {
  RegisterActivationOps(ops);
  RegisterArrangeOps(ops);
  RegisterConvOps(ops);
  RegisterElementwiseOps(ops);
  RegisterFusedOps(ops);
  RegisterJoinOps(ops);
  RegisterMatMulOps(ops);
  RegisterNormOps(ops);
  RegisterPoolOps(ops);
  RegisterQuantizeOps(ops);
  RegisterReduceOps(ops);
  RegisterReshapeOps(ops);
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
