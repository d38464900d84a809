#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <optional>

#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

// One function per kind of operator, in the .cc file of its family. Each returns false if the
// library cannot compute the node.

[[nodiscard]] bool LowerConv(Lowering& lowering, NodeId id);        // conv.cc
[[nodiscard]] bool LowerGemm(Lowering& lowering, NodeId id);        // gemm.cc
[[nodiscard]] bool LowerMatMul(Lowering& lowering, NodeId id);      // gemm.cc
[[nodiscard]] bool LowerPool(Lowering& lowering, NodeId id);        // pool.cc
[[nodiscard]] bool LowerBinary(Lowering& lowering, NodeId id);      // binary.cc
[[nodiscard]] bool LowerActivation(Lowering& lowering, NodeId id);  // elementwise.cc
[[nodiscard]] bool LowerPRelu(Lowering& lowering, NodeId id);       // elementwise.cc
[[nodiscard]] bool LowerSoftmax(Lowering& lowering, NodeId id);     // norm.cc
[[nodiscard]] bool LowerNorm(Lowering& lowering, NodeId id);        // norm.cc
[[nodiscard]] bool LowerLayerNorm(Lowering& lowering, NodeId id);   // norm.cc
[[nodiscard]] bool LowerLstm(Lowering& lowering, NodeId id);        // lstm.cc
[[nodiscard]] bool LowerReduce(Lowering& lowering, NodeId id);      // reduce.cc
[[nodiscard]] bool LowerResize(Lowering& lowering, NodeId id);      // resize.cc
[[nodiscard]] bool LowerDeconv(Lowering& lowering, NodeId id);      // deconv.cc
[[nodiscard]] bool LowerQuantize(Lowering& lowering, NodeId id);    // convert.cc
[[nodiscard]] bool LowerDequantize(Lowering& lowering, NodeId id);  // convert.cc
[[nodiscard]] bool LowerCast(Lowering& lowering, NodeId id);        // convert.cc
[[nodiscard]] bool LowerReshape(Lowering& lowering, NodeId id);     // reshape.cc
[[nodiscard]] bool LowerTranspose(Lowering& lowering, NodeId id);   // reshape.cc
[[nodiscard]] bool LowerConcat(Lowering& lowering, NodeId id);      // join.cc
[[nodiscard]] bool LowerSplit(Lowering& lowering, NodeId id);       // join.cc
[[nodiscard]] bool LowerSlice(Lowering& lowering, NodeId id);       // join.cc
[[nodiscard]] bool LowerGather(Lowering& lowering, NodeId id);      // join.cc

/// Returns the layout that a convolution in this region that reads `value` prefers; nullopt if
/// there is none.
[[nodiscard]] std::optional<Desc> LayoutWanted(const Lowering& lowering, ValueId value);

}  // namespace msc::onednn
