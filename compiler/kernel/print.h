#pragma once

#include <string>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// "v0 * 16 + 3": fewest parentheses; floats shortest that read back the same.
[[nodiscard]] std::string Print(const Expr& expr);
/// One statement with what is in it, a line each, indented by `indent` times two spaces.
[[nodiscard]] std::string Print(const Stmt& stmt, int indent = 0);
/// The first line of a statement, for messages.
[[nodiscard]] std::string Headline(const Stmt& stmt);
/// The whole kernel. For people and golden tests; names are quoted and escaped.
[[nodiscard]] std::string Print(const KernelFunc& func);

}  // namespace msc::kernel
