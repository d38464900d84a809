#pragma once

#include "compiler/ops/op.h"

namespace msc {

/// Adds every operator of this folder. register.cc calls one function per family.
void RegisterAllOps(OpRegistry& ops);

// Each adds one family of operators.
void RegisterActivationOps(OpRegistry& ops);
void RegisterArgOps(OpRegistry& ops);
void RegisterArrangeOps(OpRegistry& ops);
void RegisterAttentionOps(OpRegistry& ops);
void RegisterBitOps(OpRegistry& ops);
void RegisterCastOps(OpRegistry& ops);
void RegisterControlFlowOps(OpRegistry& ops);
void RegisterConvOps(OpRegistry& ops);
void RegisterConvTransposeOps(OpRegistry& ops);
void RegisterDataDependentOps(OpRegistry& ops);
void RegisterDeformConvOps(OpRegistry& ops);
void RegisterElementwiseOps(OpRegistry& ops);
void RegisterFusedOps(OpRegistry& ops);
void RegisterGridSampleOps(OpRegistry& ops);
void RegisterImageOps(OpRegistry& ops);
void RegisterIndexOps(OpRegistry& ops);
void RegisterIntegerOps(OpRegistry& ops);
void RegisterJoinOps(OpRegistry& ops);
void RegisterLayerNormOps(OpRegistry& ops);
void RegisterLinearAlgebraOps(OpRegistry& ops);
void RegisterLinearAttentionOps(OpRegistry& ops);
void RegisterLossOps(OpRegistry& ops);
void RegisterLstmOps(OpRegistry& ops);
void RegisterMatMulOps(OpRegistry& ops);
void RegisterNarrowOps(OpRegistry& ops);
void RegisterNmsOps(OpRegistry& ops);
void RegisterNormOps(OpRegistry& ops);
void RegisterOptionalOps(OpRegistry& ops);
void RegisterPoolOps(OpRegistry& ops);
void RegisterQuantizeOps(OpRegistry& ops);
void RegisterRecurrentOps(OpRegistry& ops);
void RegisterReduceOps(OpRegistry& ops);
void RegisterReshapeOps(OpRegistry& ops);
void RegisterResizeOps(OpRegistry& ops);
void RegisterRoiOps(OpRegistry& ops);
void RegisterSequenceOps(OpRegistry& ops);
void RegisterSequenceOrderOps(OpRegistry& ops);
void RegisterShapeOps(OpRegistry& ops);
void RegisterSignalOps(OpRegistry& ops);
void RegisterSignalWeightOps(OpRegistry& ops);
void RegisterStringOps(OpRegistry& ops);
void RegisterTfIdfOps(OpRegistry& ops);
void RegisterTrainOps(OpRegistry& ops);
void RegisterUnpoolOps(OpRegistry& ops);

}  // namespace msc
