#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc {

/// How the elements of an operator's result depend on those of its operands, from easiest to fuse
/// to impossible to fuse.
enum class OpKind : std::uint8_t {
  kElementwise,
  kBroadcast,
  kInjective,
  kReduce,
  kAnchor,  ///< Conv, MatMul: fuses with elementwise operators that follow it
  kTuple,
  kOpaque,
};

/// Returns one letter: "E", "B", "I", "R", "A", "T" or "O".
[[nodiscard]] std::string_view Name(OpKind kind);
/// Returns the kind of an ONNX operator or of one of domain "msc"; kOpaque if it is not in the
/// table.
[[nodiscard]] OpKind KindOf(const Node& node);

}  // namespace msc
