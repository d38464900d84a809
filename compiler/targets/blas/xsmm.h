#pragma once

// Internal to this folder.

#include "compiler/targets/blas/library.h"

namespace msc::blas {

/// Returns libxsmm, which generates a kernel for a size at its first use; products use it for
/// tiles. It accepts no transposed operands. UserError if the build had no libxsmm or it generates
/// no code for this CPU.
[[nodiscard]] const Library& LoadXsmm();

}  // namespace msc::blas
