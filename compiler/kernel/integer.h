#pragma once

#include <cstdint>

#include "compiler/base/dtype.h"
#include "compiler/kernel/expr.h"

namespace msc::kernel {

/// Wraps `value` to an integer type or bool, with sign or zero extension to 64 bits; a u64 is kept
/// as the i64 with the same bits.
[[nodiscard]] std::int64_t WrapInteger(DType dtype, std::int64_t value);

/// Applies kAdd, kSub, kMul, kDiv, kMod, kMin, kMax, kAnd or kOr to two values of `dtype`. A
/// divisor must be > 0.
[[nodiscard]] std::int64_t ApplyInteger(Op op, DType dtype, std::int64_t a, std::int64_t b);

/// Range of an integer type or bool; for u64, the range of i64.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] IntegerRange RangeOf(DType dtype);

/// Rounds the quotient toward minus infinity; `b` > 0.
[[nodiscard]] constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t FloorMod(std::int64_t a, std::int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

}  // namespace msc::kernel
