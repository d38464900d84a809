#include "compiler/kernel/integer.h"

#include <algorithm>
#include <limits>

#include "compiler/base/error.h"

namespace msc::kernel {

std::int64_t WrapInteger(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kU8:
      return static_cast<std::uint8_t>(value);
    case DType::kI8:
      return static_cast<std::int8_t>(value);
    case DType::kU16:
      return static_cast<std::uint16_t>(value);
    case DType::kI16:
      return static_cast<std::int16_t>(value);
    case DType::kU32:
      return static_cast<std::uint32_t>(value);
    case DType::kI32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

std::int64_t ApplyInteger(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const bool wide = dtype == DType::kU64;
  switch (op) {
    case Op::kAdd:
      return WrapInteger(dtype, static_cast<std::int64_t>(ua + ub));
    case Op::kSub:
      return WrapInteger(dtype, static_cast<std::int64_t>(ua - ub));
    case Op::kMul:
      return WrapInteger(dtype, static_cast<std::int64_t>(ua * ub));
    case Op::kDiv:
      return wide ? static_cast<std::int64_t>(ua / ub) : FloorDiv(a, b);
    case Op::kMod:
      return wide ? static_cast<std::int64_t>(ua % ub) : FloorMod(a, b);
    case Op::kMin:
      return wide ? static_cast<std::int64_t>(std::min(ua, ub)) : std::min(a, b);
    case Op::kMax:
      return wide ? static_cast<std::int64_t>(std::max(ua, ub)) : std::max(a, b);
    case Op::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Op::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    default:
      Check(false, "an operation on integers");
  }
  return 0;
}

IntegerRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kU16:
      return {0, 65535};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU32:
      return {0, 4294967295};
    case DType::kI32:
      return {-2147483648LL, 2147483647};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace msc::kernel
