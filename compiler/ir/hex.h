#pragma once

// Bytes as pairs of hex digits. Private to compiler/ir.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace msc::detail {

/// 0 to 15, or -1.
[[nodiscard]] int HexDigit(char digit);
/// Two lowercase digits a byte.
[[nodiscard]] std::string HexOf(std::span<const std::byte> bytes);
/// False unless `digits` has two hex digits for each of `bytes`.
[[nodiscard]] bool ReadHex(std::string_view digits, std::span<std::byte> bytes);

}  // namespace msc::detail
