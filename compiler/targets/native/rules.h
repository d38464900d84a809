#pragma once

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"
#include "compiler/targets/target.h"

namespace msc::native {

// One function a family, one file each. Each lowers the anchor of a group with its followers and
// returns true, or returns false, having done nothing that matters, where the anchor is none of its
// operators or of a form it does not take.

[[nodiscard]] bool LowerConv(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerConvTranspose(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerGemm(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerMatMul(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerAttention(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerPool(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerResize(Lowering& lowering, const Group& group);
/// ReduceMean, ReduceMax and ReduceSum along one axis; those over images are pools by now.
[[nodiscard]] bool LowerReduce(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerElementwise(Lowering& lowering, const Group& group);
[[nodiscard]] bool LowerNorm(Lowering& lowering, const Group& group);
/// Operators that only say that the same elements are seen in another way, or move them.
[[nodiscard]] bool LowerArrange(Lowering& lowering, const Group& group);

/// A convolution over windows of one pixel, behind a prologue.
[[nodiscard]] bool LowerPointwise(Lowering& lowering, const Group& group);
/// A matrix product with constant weights behind a prologue.
[[nodiscard]] bool LowerMadeGemm(Lowering& lowering, const Group& group);

/// Lowers one group by the first of the above that takes it.
[[nodiscard]] bool LowerGroup(Lowering& lowering, const Group& group);

/// Whether the kernel of a node can have a prologue, and then computes each of its values once.
[[nodiscard]] bool TakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool PointwiseTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool GemmTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool PoolTakesPrologue(const Lowering& lowering, const Node& node);
[[nodiscard]] bool NormTakesPrologue(const Lowering& lowering, const Node& node);

// How the kernel of a node of domain "msc" may be written: Target::Schedules. Nothing to choose
// where the family does not take the node.

[[nodiscard]] KernelChoices ConvChoices(const Lowering& lowering, const Node& node);
[[nodiscard]] KernelChoices GemmChoices(const Lowering& lowering, const Node& node);

}  // namespace msc::native
