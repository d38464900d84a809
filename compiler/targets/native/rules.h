#pragma once

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"
#include "compiler/targets/target.h"

namespace msc::native {

// One function per family of operators, each in a file of its own. Lowers the anchor of a group
// with its followers and returns true. Returns false, without lasting effects, if the anchor is not
// an operator of the family or has an unsupported form.

[[nodiscard]] bool LowerConv(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerConvTranspose(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerGemm(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerMatMul(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerAttention(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerPool(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerResize(Lowering& lowering, const Group& group);
/// Lowers ReduceMean, ReduceMax and ReduceSum along one axis. Reductions over images have become
/// pools before lowering.
[[nodiscard]] bool LowerReduce(Lowering& lowering, const Group& group);
/// Lowers LSTM, GRU and RNN with constant weights.
[[nodiscard]] bool LowerRecurrent(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerElementwise(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerNorm(Lowering& lowering, const Group& group);
/// Lowers operators that only change the view of the same elements, or move them.
[[nodiscard]] bool LowerArrange(Lowering& lowering, const Group& group);
/// Lowers Gather and GatherElements.
[[nodiscard]] bool LowerGather(Lowering& lowering, const Group& group);
/// Lowers Pad with constants, and Trilu.
[[nodiscard]] bool LowerPad(Lowering& lowering, const Group& group);
/// Lowers CumSum of f32 along a constant axis.
[[nodiscard]] bool LowerRunningSum(Lowering& lowering, const Group& group);

/// Lowers a convolution with windows of one pixel after a prologue.
[[nodiscard]] bool LowerPointwise(Lowering& lowering, const Group& group);
/// Lowers a matrix product with constant weights after a prologue.
[[nodiscard]] bool LowerMadeGemm(Lowering& lowering, const Group& group);

/// Lowers a group with the first of the functions above that supports it.
[[nodiscard]] bool LowerGroup(Lowering& lowering, const Group& group);

/// Returns whether the kernel of a node can have a prologue and then computes each value of the
/// prologue once.
[[nodiscard]] bool TakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool PointwiseTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool GemmTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool PoolTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool NormTakesPrologue(const Lowering& lowering, const Node& node);

// Return the schedules of a node of domain "msc" for Target::Schedules; empty if the family does
// not support the node.

[[nodiscard]] KernelChoices ConvChoices(const Lowering& lowering, const Node& node);
[[nodiscard]] KernelChoices GemmChoices(const Lowering& lowering, const Node& node);

}  // namespace msc::native
