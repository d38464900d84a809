#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// Returns the target "blas": f32 matrix products by OpenBLAS, BLIS or libxsmm (option `library`),
/// loaded when the target is made. Supports Gemm, MatMul, msc.Gemm, and Conv and msc.Conv with
/// kernel and stride 1, which are matrix products; and elementwise f32 operators after a product.
/// GraphToKernel makes kernels that call the library. Bias, residual, activation and elementwise
/// operators after the product are loops in the same kernel, or in a second kernel where the
/// library uses several threads. The system compiler builds the kernels, as for `native`. Operands
/// are not copied; only libxsmm needs transposed weights packed.
[[nodiscard]] TargetKind BlasKind();

}  // namespace msc
