#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace msc::cost {

/// The descriptor on which a measuring child writes its one record.
inline constexpr int kRecordFd = 3;

/// Frames a payload: "MSCR", its length and its CRC-32C as little-endian 32-bit numbers, itself.
[[nodiscard]] std::string FrameRecord(std::string_view payload);

/// The payload, if `bytes` are exactly one undamaged record.
[[nodiscard]] std::optional<std::string> ParseRecord(std::string_view bytes);

/// Bytes that a record has besides its payload.
inline constexpr std::size_t kRecordOverhead = 12;

/// Writes the whole record to `fd`. SystemError if that fails.
void WriteRecord(int fd, std::string_view payload);

}  // namespace msc::cost
