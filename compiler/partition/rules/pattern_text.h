#pragma once

#include <string>
#include <string_view>

#include "compiler/partition/rules/pattern.h"

namespace msc {

// Patterns as text, for people: "Relu?(Add?(Conv, *))".
//
//   Conv               a call of that operator, whatever it reads; "msc.Gelu" of another domain
//   Add(P, Q)          a call that reads what P and Q match. Weights behind the last one need not
//   be
//                      written. Two operands of Add, And, Equal, Max, Mean, Min, Mul, Or, Sum and
//                      Xor match in either order.
//   Relu?(P), Add?(P, Q)   the same, or P alone
//   P | Q              either; in parentheses, or as an operand
//   *                  anything, which is not part of the match
//   $const             a constant: in graphs of this compiler a weight, which is part of its reader
//
// Only spaces count as white space. Tuples and projections have no text: graphs of this compiler
// have none.

/// Reads a pattern, of 2,000 bytes and 32 levels of nesting at most, that has an operator in every
/// alternative. UserError that begins with `what` and the column, counted from 1, and says what
/// belongs there.
[[nodiscard]] PatternPtr ParsePattern(std::string_view text, const std::string& what);

}  // namespace msc
