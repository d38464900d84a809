#pragma once

#include <cstdint>

#include "compiler/base/dtype.h"
#include "compiler/kernel/expr.h"

namespace msc::kernel {

/// `value` as an element of an integer type or bool holds it: wrapped, sign- or zero-extended; u64
/// as the i64 of the same bits.
[[nodiscard]] std::int64_t WrapInteger(DType dtype, std::int64_t value);

/// kAdd, kSub, kMul, kDiv, kMod, kMin, kMax, kAnd or kOr of two values of `dtype`. The divisor is >
/// 0.
[[nodiscard]] std::int64_t ApplyInteger(Op op, DType dtype, std::int64_t a, std::int64_t b);

/// Least and largest value of an integer type or bool; of u64 what i64 holds.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] IntegerRange RangeOf(DType dtype);

/// Rounded towards minus infinity; `b` > 0.
[[nodiscard]] constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t FloorMod(std::int64_t a, std::int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

}  // namespace msc::kernel
