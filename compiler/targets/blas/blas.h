#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// The target "blas": products of f32 matrices by OpenBLAS, BLIS or libxsmm (option `library`),
/// loaded when the target is made. Takes Gemm, MatMul, msc.Gemm, and Conv and msc.Conv of kernel
/// and stride 1, which are products too; bias, residual and activation follow in one pass over the
/// rows. Nothing is copied; transposed weights are packed for libxsmm alone.
[[nodiscard]] TargetKind BlasKind();

}  // namespace msc
