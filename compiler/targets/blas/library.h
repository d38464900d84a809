#pragma once

// Internal to this folder.

#include <string>

#include "compiler/kernel/call.h"

namespace msc::blas {

/// A library for matrix products. Loaded once and never unloaded. OpenBLAS and BLIS have one thread
/// count for the whole process: a product waits for running products with another count.
struct Library {
  std::string version;  ///< includes the chosen kernels: "OpenBLAS 0.3.21 SkylakeX"
  kernel::LibraryFunction sgemm = nullptr;  ///< the function that kernels call as kernel::kSgemm
  bool transposes = true;                   ///< whether it accepts A and B transposed
};

/// Loads "openblas", "blis", or "xsmm" (see xsmm.h). OpenBLAS and BLIS choose kernels for the CPU
/// while they load, and recognise only CPUs older than themselves. Where the CPU has AVX-512 and is
/// not an Intel CPU that the library recognises, this function selects the Skylake-X kernels,
/// unless OPENBLAS_CORETYPE or BLIS_ARCH_TYPE is set in the environment. UserError if the library
/// is not installed.
[[nodiscard]] const Library& LoadLibrary(const std::string& name);

}  // namespace msc::blas
