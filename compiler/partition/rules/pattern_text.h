#pragma once

#include <string>
#include <string_view>

#include "compiler/partition/rules/pattern.h"

namespace msc {

// Patterns as text, as users write them: "Relu?(Add?(Conv, *))".
//
//   Conv          a call of that operator with any operands; "msc.Gelu" of another domain
//   Add(P, Q)     a call whose operands P and Q match. Weights after the last operand need not be
//                 written. Two operands of Add, And, Equal, Max, Mean, Min, Mul, Or, Sum and Xor
//                 match in either order.
//   Relu?(P)      Relu(P), or P alone; likewise Add?(P, Q): Add(P, Q), or P alone
//   P | Q         either; in parentheses, or as an operand
//   *             anything, which is not part of the match
//   $const        a weight, which is part of its reader
//
// Only spaces count as white space.

/// Parses a pattern of at most 2,000 bytes and 32 levels of nesting that has an operator in every
/// alternative. UserError otherwise; the message begins with `what` and the column, counted from 1,
/// and says what is expected there.
[[nodiscard]] PatternPtr ParsePattern(std::string_view text, const std::string& what);

}  // namespace msc
