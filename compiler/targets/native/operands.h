#pragma once

#include <vector>

#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Returns the operands that ElementwiseOf needs for a node, in order, with the dims `dims` of the
/// result. Adds copies of those without adjacent neighbours along `axis`. Leaves the operand at
/// `flow` empty, because it is in registers.
[[nodiscard]] std::vector<View> OperandsOf(Lowering& lowering, NodeId id, const Dims& dims,
                                           std::size_t axis, std::size_t flow);
inline constexpr std::size_t kNoFlow = static_cast<std::size_t>(-1);

/// Returns one value as an operand.
[[nodiscard]] View OperandOf(Lowering& lowering, ValueId value, const Dims& dims, std::size_t axis);

/// Returns a constant f32 list, or a single number, as an operand that varies along `axis` only.
[[nodiscard]] View AlongAxis(const View& list, const Dims& dims, std::size_t axis);

}  // namespace msc::native
