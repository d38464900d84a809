#pragma once

#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// The same kernel, shorter: constants folded; unrolled loops and loops of one iteration replaced
/// by their bodies (with variables of their own, so that ids stay unique), loops without iterations
/// dropped; If of a constant replaced by what runs; a local that is a constant or another name put
/// where it is used; locals that no effect depends on dropped, and loops and branches that are
/// empty. The parallel loop stays. A sound kernel stays sound; one that is simple already stays as
/// it is.
[[nodiscard]] KernelFunc Simplify(KernelFunc func);

/// The expression with variables replaced, folded on the way.
struct Replacement {
  VarId var;
  Expr value;  ///< of the variable's type
};
[[nodiscard]] Expr Replace(const Expr& expr, const std::vector<Replacement>& replacements);

}  // namespace msc::kernel
