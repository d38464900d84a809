#pragma once

#include <vector>

#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// The operands that ElementwiseOf wants for a node, seen with the dims `dims` of the result, in
/// order. Those without neighbours side by side along `axis` are copied now. The operand at `flow`
/// is left empty: it is in registers.
[[nodiscard]] std::vector<View> OperandsOf(Lowering& lowering, NodeId id, const Dims& dims,
                                           std::size_t axis, std::size_t flow);
inline constexpr std::size_t kNoFlow = static_cast<std::size_t>(-1);

/// One value as an operand.
[[nodiscard]] View OperandOf(Lowering& lowering, ValueId value, const Dims& dims, std::size_t axis);

/// A constant list of f32, or of one, as an operand that changes along `axis` alone.
[[nodiscard]] View AlongAxis(const View& list, const Dims& dims, std::size_t axis);

}  // namespace msc::native
