#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"

namespace msc {

/// Calls `body.template operator()<T>()` with the C++ type T of an integer type. InternalError for
/// other types.
template <class Body>
decltype(auto) WithInteger(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kI8:
      return body.template operator()<std::int8_t>();
    case DType::kU8:
      return body.template operator()<std::uint8_t>();
    case DType::kI16:
      return body.template operator()<std::int16_t>();
    case DType::kU16:
      return body.template operator()<std::uint16_t>();
    case DType::kI32:
      return body.template operator()<std::int32_t>();
    case DType::kU32:
      return body.template operator()<std::uint32_t>();
    case DType::kI64:
      return body.template operator()<std::int64_t>();
    case DType::kU64:
      return body.template operator()<std::uint64_t>();
    default:
      throw InternalError(std::string(Name(dtype)) + " is an integer type", __FILE__, __LINE__);
  }
}

}  // namespace msc
