#pragma once

// Bytes as pairs of hex digits. Private to compiler/ir.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace msc::detail {

/// Returns the value of `digit`, 0 to 15, or -1 if it is not a hex digit.
[[nodiscard]] int HexDigit(char digit);
/// Returns two lowercase digits per byte.
[[nodiscard]] std::string HexOf(std::span<const std::byte> bytes);
/// Parses `digits` into `bytes`. Returns false unless there are two hex digits for each byte.
[[nodiscard]] bool ReadHex(std::string_view digits, std::span<std::byte> bytes);

}  // namespace msc::detail
