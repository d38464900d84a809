#pragma once

// Of this folder only.

#include <cstdint>
#include <string>

namespace msc::blas {

/// One product of row-major matrices: C[m,n] = alpha * op(A) * op(B) + beta * C.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;  ///< A is [k,m]
  bool transpose_b = false;  ///< B is [n,k]
  float alpha = 1.0F;
  float beta = 0.0F;
  bool operator==(const Product&) const = default;
};

/// A library that multiplies. Loaded once, never unloaded. OpenBLAS and BLIS have one count of
/// threads for the whole process: there a product waits while products of another count run.
struct Library {
  std::string version;  ///< with the kernels it chose: "OpenBLAS 0.3.21 SkylakeX"
  /// On `threads` threads, as many as UseThreads was told last. Thread-safe.
  void (*multiply)(const Product& product, int threads, const float* a, const float* b,
                   float* c) = nullptr;
  /// Whether it transposes, and scales by any alpha and beta; else alpha is 1 and beta 0 or 1.
  bool general = true;
};

/// "openblas", "blis", or "xsmm" (see xsmm.h). The first two choose kernels for the CPU while they
/// are loaded, and know only CPUs older than themselves: where the CPU has AVX-512 and is not one
/// of Intel's, which they recognise, they are told to take those of Skylake-X, unless
/// OPENBLAS_CORETYPE or BLIS_ARCH_TYPE in the environment says otherwise. UserError where the
/// library is not installed.
[[nodiscard]] const Library& LoadLibrary(const std::string& name);

}  // namespace msc::blas
