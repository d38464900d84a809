#pragma once

#include <span>

#include "compiler/ir/graph.h"
#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

/// Returns whether LogicOf supports `node`: a comparison of two f32, i32 or i64; And, Or, Xor or
/// Not; Where between two f32; IsNaN of f32.
[[nodiscard]] bool IsLogic(const Graph& graph, const Node& node);

/// Returns the operator on lanes of its operands: bool, or f32 for Where.
[[nodiscard]] Expr LogicOf(const Node& node, std::span<const Expr> operands);

}  // namespace msc::native
