#pragma once

// Of this folder only.

#include <string>

#include "compiler/kernel/call.h"

namespace msc::blas {

/// A library that multiplies. Loaded once, never unloaded. OpenBLAS and BLIS have one count of
/// threads for the whole process: there a product waits while products of another count run.
struct Library {
  std::string version;  ///< with the kernels it chose: "OpenBLAS 0.3.21 SkylakeX"
  kernel::LibraryFunction sgemm = nullptr;  ///< what kernels call by kernel::kSgemm
  bool transposes = true;                   ///< whether it reads A and B transposed
};

/// "openblas", "blis", or "xsmm" (see xsmm.h). The first two choose kernels for the CPU while they
/// are loaded, and know only CPUs older than themselves: where the CPU has AVX-512 and is not one
/// of Intel's, which they recognise, they are told to take those of Skylake-X, unless
/// OPENBLAS_CORETYPE or BLIS_ARCH_TYPE in the environment says otherwise. UserError where the
/// library is not installed.
[[nodiscard]] const Library& LoadLibrary(const std::string& name);

}  // namespace msc::blas
