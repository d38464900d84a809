#include "compiler/ir/element.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "compiler/base/with_type.h"

namespace msc::detail {
namespace {

template <class T>
T Load(std::span<const std::byte> raw, std::size_t index) {
  T value{};
  std::memcpy(&value, raw.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void Store(std::span<std::byte> raw, std::size_t index, T value) {
  std::memcpy(raw.data() + index * sizeof(T), &value, sizeof(T));
}

template <class T>
std::string Plain(T value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

template <class Bits>
std::string NanText(Bits bits) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::uint64_t{bits}, 16);
  return "nan(0x" + std::string(text.data(), end.ptr) + ")";
}

template <class T>
bool ReadPlain(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto got = std::from_chars(text.data(), end, value);
  return got.ec == std::errc() && got.ptr == end;
}

/// Parses "nan(0x...)", which gives all bits of a NaN. Does not check that the bits are a NaN.
template <class Bits>
bool ReadNanBits(std::string_view text, Bits& bits) {
  constexpr std::string_view kStart = "nan(0x";
  if (!text.starts_with(kStart) || !text.ends_with(')')) return false;
  text.remove_prefix(kStart.size());
  text.remove_suffix(1);
  const char* end = text.data() + text.size();
  const auto got = std::from_chars(text.data(), end, bits, 16);
  return got.ec == std::errc() && got.ptr == end;
}

template <class T, class Bits>
std::string IeeeText(Bits bits) {
  const T value = std::bit_cast<T>(bits);
  return std::isnan(value) ? NanText(bits) : Plain(value);
}

template <class T, class Bits>
bool ReadIeee(std::string_view text, Bits& bits) {
  if (text.starts_with("nan("))
    return ReadNanBits(text, bits) && std::isnan(std::bit_cast<T>(bits));
  T value{};
  if (text == "nan") {
    value = std::numeric_limits<T>::quiet_NaN();
  } else if (!ReadPlain(text, value) || text == "-nan") {
    return false;
  }
  bits = std::bit_cast<Bits>(value);
  return true;
}

template <class FromBits>
std::string NarrowText(std::uint16_t bits, FromBits from_bits) {
  const float value = from_bits(bits);
  return std::isnan(value) ? NanText(bits) : Plain(value);
}

template <class ToBits, class FromBits>
bool ReadNarrow(std::string_view text, std::uint16_t& bits, ToBits to_bits, FromBits from_bits) {
  if (text.starts_with("nan(")) return ReadNanBits(text, bits) && std::isnan(from_bits(bits));
  std::uint32_t wide = 0;
  if (!ReadIeee<float>(text, wide)) return false;
  bits = to_bits(std::bit_cast<float>(wide));
  return true;
}

template <class T>
bool ReadInto(std::string_view text, std::span<std::byte> raw, std::size_t part) {
  T value{};
  if (!ReadPlain(text, value)) return false;
  Store(raw, part, value);
  return true;
}

template <class T, class Bits>
bool ReadIeeeInto(std::string_view text, std::span<std::byte> raw, std::size_t part) {
  Bits bits{};
  if (!ReadIeee<T>(text, bits)) return false;
  Store(raw, part, bits);
  return true;
}

bool ReadNarrowInto(DType dtype, std::string_view text, std::span<std::byte> raw,
                    std::size_t part) {
  std::uint16_t bits = 0;
  const bool ok = dtype == DType::kF16 ? ReadNarrow(text, bits, ToF16, FromF16)
                                       : ReadNarrow(text, bits, ToBF16, FromBF16);
  if (ok) Store(raw, part, bits);
  return ok;
}

bool ReadBoolInto(std::string_view text, std::span<std::byte> raw, std::size_t part) {
  if (text != "true" && text != "false") return ReadInto<std::uint8_t>(text, raw, part);
  Store<std::uint8_t>(raw, part, text == "true" ? 1 : 0);
  return true;
}

}  // namespace

std::string FloatText(float value) {
  return IeeeText<float>(std::bit_cast<std::uint32_t>(value));
}

bool ReadFloat(std::string_view text, float& value) {
  std::uint32_t bits = 0;
  if (!ReadIeee<float>(text, bits)) return false;
  value = std::bit_cast<float>(bits);
  return true;
}

std::size_t PartsOf(DType dtype) {
  return dtype == DType::kC64 || dtype == DType::kC128 ? 2 : 1;
}

std::string PartText(const Tensor& tensor, std::size_t part) {
  const auto raw = tensor.Raw();
  switch (tensor.dtype()) {
    case DType::kF32:
    case DType::kC64:
      return IeeeText<float>(Load<std::uint32_t>(raw, part));
    case DType::kF64:
    case DType::kC128:
      return IeeeText<double>(Load<std::uint64_t>(raw, part));
    case DType::kF16:
      return NarrowText(Load<std::uint16_t>(raw, part), FromF16);
    case DType::kBF16:
      return NarrowText(Load<std::uint16_t>(raw, part), FromBF16);
    case DType::kBool: {
      // A bool that was read from raw bytes may be neither 0 nor 1.
      const auto byte = Load<std::uint8_t>(raw, part);
      if (byte > 1) return Plain(byte);
      return byte == 1 ? "true" : "false";
    }
    default:
      return WithInteger(tensor.dtype(), [&]<class T>() { return Plain(Load<T>(raw, part)); });
  }
}

bool ReadPart(std::string_view text, Tensor& tensor, std::size_t part) {
  const auto raw = tensor.MutableRaw();
  switch (tensor.dtype()) {
    case DType::kF32:
    case DType::kC64:
      return ReadIeeeInto<float, std::uint32_t>(text, raw, part);
    case DType::kF64:
    case DType::kC128:
      return ReadIeeeInto<double, std::uint64_t>(text, raw, part);
    case DType::kF16:
    case DType::kBF16:
      return ReadNarrowInto(tensor.dtype(), text, raw, part);
    case DType::kBool:
      return ReadBoolInto(text, raw, part);
    default:
      return WithInteger(tensor.dtype(), [&]<class T>() { return ReadInto<T>(text, raw, part); });
  }
}

}  // namespace msc::detail
