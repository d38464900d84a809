#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// A function of a library as kernels call it: what the addresses and integers of a Call say, in
/// their order. It must not throw, and is safe to call on several threads where the memory that it
/// writes differs.
using LibraryFunction = void (*)(char* const* addresses,
                                 const long* integers);  // NOLINT(google-runtime-int)

/// The functions that there are. "sgemm" is the product of row-major matrices of f32:
/// C[m,n] = op(A)[m,k] * op(B)[k,n]. Its addresses are those of A, B and C, its integers these, in
/// this order. What C held before does not matter.
struct Sgemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;  ///< elements from one row of A as it lies to the next
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  bool transpose_a = false;  ///< A lies as [k,m]
  bool transpose_b = false;  ///< B lies as [n,k]
  std::int64_t threads = 1;  ///< of the library; 1 inside of a parallel loop
};
inline constexpr std::string_view kSgemm = "sgemm";

[[nodiscard]] Call ToCall(const Sgemm& product, Call::Address a, Call::Address b, Call::Address c);
/// The product that the integers of a sound Call say.
[[nodiscard]] Sgemm ToSgemm(const long* integers);  // NOLINT(google-runtime-int)

/// What a call does from each of its addresses on.
struct Touched {
  DType dtype = DType::kF32;
  Access access = Access::kRead;
  std::int64_t elements = 0;  ///< the furthest that it touches, and all before
};
/// One entry an address. `error` says what is wrong where the function is not known, or the number
/// or values of its arguments do not fit; there are no entries then.
struct CallFacts {
  std::vector<Touched> touched;
  bool parallel = false;  ///< it runs on several threads
  std::string error;
};
[[nodiscard]] CallFacts FactsOf(const Call& call);

/// The functions that a kernel calls, each once: position i of the table of functions that its
/// code and Evaluate are given.
[[nodiscard]] std::vector<std::string> CalledFunctions(const KernelFunc& func);

}  // namespace msc::kernel
