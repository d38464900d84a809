#include "compiler/targets/native/rules.h"

namespace msc::native {

bool LowerGroup(Lowering& lowering, const Group& group) {
  return LowerConv(lowering, group) || LowerConvTranspose(lowering, group) ||
         LowerGemm(lowering, group) || LowerMatMul(lowering, group) ||
         LowerAttention(lowering, group) || LowerPool(lowering, group) ||
         LowerResize(lowering, group) || LowerReduce(lowering, group) ||
         LowerNorm(lowering, group) || LowerElementwise(lowering, group) ||
         LowerArrange(lowering, group);
}

}  // namespace msc::native
