#include "compiler/targets/native/rules.h"

namespace msc::native {

bool LowerGroup(Lowering& lowering, const Group& group) {
  if (!group.prologue.empty()) {
    return LowerPointwise(lowering, group) || LowerMadeGemm(lowering, group) ||
           LowerPool(lowering, group) || LowerNorm(lowering, group);
  }
  return LowerConv(lowering, group) || LowerConvTranspose(lowering, group) ||
         LowerGemm(lowering, group) || LowerMatMul(lowering, group) ||
         LowerAttention(lowering, group) || LowerPool(lowering, group) ||
         LowerResize(lowering, group) || LowerReduce(lowering, group) ||
         LowerNorm(lowering, group) || LowerRecurrent(lowering, group) ||
         LowerElementwise(lowering, group) || LowerArrange(lowering, group) ||
         LowerGather(lowering, group) || LowerPad(lowering, group) ||
         LowerRunningSum(lowering, group);
}

bool TakesPrologue(const Lowering& lowering, const Node& node) {
  return PointwiseTakesPrologue(lowering, node) || GemmTakesPrologue(lowering, node) ||
         PoolTakesPrologue(lowering, node) || NormTakesPrologue(lowering, node);
}

}  // namespace msc::native
