#pragma once

// Internal to this folder.

#include "compiler/targets/blas/plan.h"
#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/lowering.h"

namespace msc::blas {

/// Adds the kernels of a product and of the nodes after it. With one thread, or with enough
/// products to share among the threads, one kernel does both: each product runs on one thread of
/// the library, and the rest follows while the product is in cache. Otherwise each product uses all
/// threads of the library, and a second kernel computes the rest.
void LowerProduct(native::Lowering& lowering, const native::Group& group, const Plan& plan,
                  int threads);

}  // namespace msc::blas
