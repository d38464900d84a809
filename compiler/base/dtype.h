#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msc {

/// Element type of a tensor: every type of ONNX TensorProto up to IR version 8.
enum class DType : std::uint8_t {
  kUndefined,
  kF32,
  kU8,
  kI8,
  kU16,
  kI16,
  kI32,
  kI64,
  kString,
  kBool,
  kF16,
  kF64,
  kU32,
  kU64,
  kC64,
  kC128,
  kBF16,
};

/// Returns the short name of `dtype`: "f32", "u8", "i64", "bool", "str", "bf16", ...; "undef" for
/// kUndefined.
[[nodiscard]] std::string_view Name(DType dtype);
[[nodiscard]] std::optional<DType> ParseDType(std::string_view name);
/// Returns the bytes of one element; 0 for kUndefined and kString.
[[nodiscard]] std::size_t ByteSize(DType dtype);
[[nodiscard]] bool IsFloat(DType dtype);
[[nodiscard]] bool IsInteger(DType dtype);

/// Rounds to bfloat16, the upper half of an f32: to nearest, ties to even. NaN stays NaN.
[[nodiscard]] std::uint16_t ToBF16(float value);
[[nodiscard]] float FromBF16(std::uint16_t bits);
/// Rounds to IEEE 754 binary16: to nearest, ties to even. Magnitudes from 65520 on become infinite;
/// NaN stays NaN.
[[nodiscard]] std::uint16_t ToF16(float value);
[[nodiscard]] float FromF16(std::uint16_t bits);

}  // namespace msc
