#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// The target "blas": products of f32 matrices by OpenBLAS, BLIS or libxsmm (option `library`),
/// loaded when the target is made. Takes Gemm, MatMul, msc.Gemm, and Conv and msc.Conv of kernel
/// and stride 1, which are products too; and elementwise operators of f32 behind one. GraphToKernel
/// makes kernels that call the library; bias, residual, activation and elementwise operators that
/// follow are loops in the same kernel, or in one behind it where the library has several threads.
/// Kernels become machine code as those of `native` do: by the system compiler. Nothing is copied;
/// transposed weights are packed for libxsmm alone.
[[nodiscard]] TargetKind BlasKind();

}  // namespace msc
