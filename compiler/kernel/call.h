#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// A library function in the form that kernels call: it takes the addresses and the integers of a
/// Call, in their order. It must not throw, and it must be safe to call on several threads that
/// write different memory.
using LibraryFunction = void (*)(char* const* addresses,
                                 const long* integers);  // NOLINT(google-runtime-int)

/// Arguments of the only supported function, "sgemm": the product of row-major f32 matrices C[m,n]
/// = op(A)[m,k] * op(B)[k,n]. Its addresses are A, B and C; its integers are these fields, in this
/// order. It overwrites C.
struct Sgemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;  ///< elements from one stored row of A to the next
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  bool transpose_a = false;  ///< A is stored as [k,m]
  bool transpose_b = false;  ///< B is stored as [n,k]
  std::int64_t threads = 1;  ///< for the library; 1 inside a parallel loop
};
inline constexpr std::string_view kSgemm = "sgemm";

[[nodiscard]] Call ToCall(const Sgemm& product, Call::Address a, Call::Address b, Call::Address c);
/// Reads the integers of a valid Call.
[[nodiscard]] Sgemm ToSgemm(const long* integers);  // NOLINT(google-runtime-int)

/// Memory that a call accesses from one of its addresses on.
struct Touched {
  DType dtype = DType::kF32;
  Access access = Access::kRead;
  std::int64_t elements = 0;  ///< up to and including the last one that it accesses
};
/// Facts about a call, with one entry of `touched` per address. `error` is set, and `touched`
/// empty, if the function is unknown or the number or values of its arguments are invalid.
struct CallFacts {
  std::vector<Touched> touched = {};
  bool parallel = false;  ///< runs on several threads
  std::string error = {};
};
[[nodiscard]] CallFacts FactsOf(const Call& call);

/// Returns the functions that a kernel calls, each once. The function table that generated code and
/// Evaluate receive has this order.
[[nodiscard]] std::vector<std::string> CalledFunctions(const KernelFunc& func);

}  // namespace msc::kernel
