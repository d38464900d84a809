#include "compiler/base/dtype.h"

#include <array>
#include <bit>
#include <cmath>

namespace msc {
namespace {

struct Row {
  std::string_view name;
  std::size_t bytes;
};

// Rows follow the order of the enumerators of DType.
constexpr std::array<Row, 17> kRows = {{{"undef", 0},
                                        {"f32", 4},
                                        {"u8", 1},
                                        {"i8", 1},
                                        {"u16", 2},
                                        {"i16", 2},
                                        {"i32", 4},
                                        {"i64", 8},
                                        {"str", 0},
                                        {"bool", 1},
                                        {"f16", 2},
                                        {"f64", 8},
                                        {"u32", 4},
                                        {"u64", 8},
                                        {"c64", 8},
                                        {"c128", 16},
                                        {"bf16", 2}}};

}  // namespace

std::string_view Name(DType dtype) {
  return kRows.at(static_cast<std::size_t>(dtype)).name;
}

std::optional<DType> ParseDType(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t ByteSize(DType dtype) {
  return kRows.at(static_cast<std::size_t>(dtype)).bytes;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kU8:
    case DType::kI8:
    case DType::kU16:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64:
      return true;
    default:
      return false;
  }
}

std::uint16_t ToBF16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  const std::uint32_t rounding = 0x7FFFU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>((bits + rounding) >> 16U);
}

float FromBF16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t ToF16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U | ((magnitude >> 13U) & 0x3FFU);  // quiet NaN; keeps the upper payload bits
  } else if (magnitude >= 0x477FF000U) {
    half = 0x7C00U;  // 65520 and above round to infinity
  } else if (magnitude < 0x38800000U) {
    // Below 2^-14 a binary16 is a multiple of 2^-24, which is the last place of an f32 in [0.5, 1):
    // adding 0.5 rounds `magnitude` to such a multiple and leaves it in the low bits.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  } else {
    const std::uint32_t rounding = 0xFFFU + ((magnitude >> 13U) & 1U);
    half = (magnitude + rounding - 0x38000000U) >> 13U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

float FromF16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112;
  // A signalling NaN becomes quiet, as the conversion of a CPU makes it.
  if (exponent == 0x1FU && fraction != 0) {
    return std::bit_cast<float>(sign | 0x7FC00000U | (fraction << 13U));
  }
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

}  // namespace msc
