#pragma once

#include <optional>
#include <span>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

/// Returns the activation of a fused operator on f32 lanes. Only PRelu uses `slope`. Appends
/// definitions of values that are used twice to `body`.
[[nodiscard]] Expr ActivationOf(KernelWriter& writer, const Activation& activation, Expr x,
                                const Expr& slope, Body& body);

/// Returns whether ElementwiseOf supports `node`: an elementwise operator on f32, quantization or
/// dequantization of a whole tensor, a Cast between f32 and bf16 or f16, of integers or bools to
/// f32, or to bool, a comparison or logic operator (logic.h), or msc.Binary on f32, bf16, i8 and
/// u8.
[[nodiscard]] bool IsElementwise(const Graph& graph, NodeId id);

/// Returns one elementwise operator on lanes of the types of its values. `operands` follow the
/// node's inputs; they are null for absent inputs and for constants that are read as attributes,
/// such as the bounds of Clip.
[[nodiscard]] Expr ElementwiseOf(KernelWriter& writer, const Graph& graph, NodeId id,
                                 std::span<const Expr> operands, Body& body);

/// Returns the number of inputs of an elementwise node that are operands; the other inputs are read
/// at compile time. A BatchNormalization has one, to which OperandsOf adds scale and shift.
[[nodiscard]] std::size_t OperandCount(const Node& node);

}  // namespace msc::native
