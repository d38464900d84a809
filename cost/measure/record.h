#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace msc::cost {

/// Descriptor on which a child that measures writes its record.
inline constexpr int kRecordFd = 3;

/// Returns a record: "MSCR", the length and CRC-32C of the payload as little-endian 32-bit numbers,
/// then the payload. InternalError if its length does not fit in 32 bits.
[[nodiscard]] std::string FrameRecord(std::string_view payload);

/// Returns the payload if `bytes` are exactly one undamaged record, else nothing.
[[nodiscard]] std::optional<std::string> ParseRecord(std::string_view bytes);

/// Size of a record without its payload, in bytes.
inline constexpr std::size_t kRecordOverhead = 12;

/// Writes a record to `fd`. SystemError if that fails.
void WriteRecord(int fd, std::string_view payload);

}  // namespace msc::cost
