#pragma once

#include <optional>
#include <span>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

/// The closing function of a fused operator on f32 lanes. `slope` is for PRelu alone. Statements
/// for what is used twice go to `body`.
[[nodiscard]] Expr ActivationOf(KernelWriter& writer, const Activation& activation, Expr x,
                                const Expr& slope, Body& body);

/// Whether `node` is an elementwise operator ElementwiseOf knows: on f32, quantizing or
/// dequantizing a whole tensor, a Cast between f32 and bf16, or msc.Binary on f32, bf16, i8 and u8.
[[nodiscard]] bool IsElementwise(const Graph& graph, NodeId id);

/// One elementwise operator on lanes of the types of its values, operands as the node's inputs
/// (null where absent, or where the input is a constant read as an attribute such as the bounds of
/// Clip).
[[nodiscard]] Expr ElementwiseOf(KernelWriter& writer, const Graph& graph, NodeId id,
                                 std::span<const Expr> operands, Body& body);

/// The inputs of an elementwise node that are operands: the others are read while compiling. A
/// BatchNormalization has one, and OperandsOf adds scale and shift.
[[nodiscard]] std::size_t OperandCount(const Node& node);

}  // namespace msc::native
