#pragma once

#include <string>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Returns text such as "v0 * 16 + 3", with the fewest parentheses and the shortest floats that
/// read back unchanged.
[[nodiscard]] std::string Print(const Expr& expr);
/// Returns a statement and its nested statements, one per line, indented by `indent` times two
/// spaces.
[[nodiscard]] std::string Print(const Stmt& stmt, int indent = 0);
/// Returns the first line of a statement, for messages.
[[nodiscard]] std::string Headline(const Stmt& stmt);
/// Returns the whole kernel, for human readers and golden tests; names are quoted and escaped.
[[nodiscard]] std::string Print(const KernelFunc& func);

}  // namespace msc::kernel
