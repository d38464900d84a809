#pragma once

#include <cstdint>

#include "compiler/kernel/call.h"

namespace msc::test {

/// Computes C = op(A) * op(B) like a library function of kernel::kSgemm.
inline void Sgemm(char* const* addresses, const long* integers) {  // NOLINT(google-runtime-int)
  const kernel::Sgemm p = kernel::ToSgemm(integers);
  const auto* const a = reinterpret_cast<const float*>(addresses[0]);
  const auto* const b = reinterpret_cast<const float*>(addresses[1]);
  auto* const c = reinterpret_cast<float*>(addresses[2]);
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += static_cast<double>(p.transpose_a ? a[k * p.lda + row] : a[row * p.lda + k]) *
               static_cast<double>(p.transpose_b ? b[column * p.ldb + k] : b[k * p.ldb + column]);
      }
      c[row * p.ldc + column] = static_cast<float>(sum);
    }
  }
}

}  // namespace msc::test
