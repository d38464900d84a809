#pragma once

#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Simplifies a kernel. Folds constants; replaces unrolled loops and loops of one iteration by
/// their bodies (with new variables, so that ids stay unique); drops loops without iterations;
/// replaces an If of a constant by the branch taken; substitutes locals that are constants or
/// copies; drops locals that no effect depends on, and empty loops and branches. Keeps the parallel
/// loop. A valid kernel stays valid, and simplifying again changes nothing.
[[nodiscard]] KernelFunc Simplify(KernelFunc func);

/// Substitution of a variable by an expression.
struct Replacement {
  VarId var;
  Expr value;  ///< of the variable's type
};
/// Replaces variables in an expression and folds the result.
[[nodiscard]] Expr Replace(const Expr& expr, const std::vector<Replacement>& replacements);

}  // namespace msc::kernel
