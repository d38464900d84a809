#include "compiler/kernel/integer.h"

#include <algorithm>
#include <limits>

#include "compiler/base/error.h"
#include "compiler/base/with_type.h"

namespace msc::kernel {

std::int64_t WrapInteger(DType dtype, std::int64_t value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (!IsInteger(dtype)) return value;
  return WithInteger(dtype,
                     [&]<class T>() { return static_cast<std::int64_t>(static_cast<T>(value)); });
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
  using Widest = std::numeric_limits<std::int64_t>;
  if (dtype == DType::kBool) return {0, 1};
  if (!IsInteger(dtype) || ByteSize(dtype) == 8) return {Widest::min(), Widest::max()};
  return WithInteger(dtype, []<class T>() -> IntegerRange {
    return {static_cast<std::int64_t>(std::numeric_limits<T>::min()),
            static_cast<std::int64_t>(std::numeric_limits<T>::max())};
  });
}

}  // namespace msc::kernel
