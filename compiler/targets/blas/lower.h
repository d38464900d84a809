#pragma once

// Of this folder only.

#include "compiler/targets/blas/plan.h"
#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::blas {

/// Adds the kernels of a product and of what follows it. On one thread, or where there are products
/// for every thread, they are one: each product, by one thread of the library, and what follows it
/// while it is in cache. Else the library has all threads for each product, and a second kernel
/// closes the rows.
void LowerProduct(native::Lowering& lowering, const native::Group& group, const Plan& plan,
                  int threads);

}  // namespace msc::blas
