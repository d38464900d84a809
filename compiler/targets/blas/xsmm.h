#pragma once

// Of this folder only.

#include "compiler/targets/blas/library.h"

namespace msc::blas {

/// libxsmm: kernels made for a size when it is first asked for, here over tiles of a product. It
/// reads nothing transposed. UserError where it was not there when this was built, or makes no code
/// for this CPU.
[[nodiscard]] const Library& LoadXsmm();

}  // namespace msc::blas
