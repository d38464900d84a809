#include "cost/measure/record.h"

#include <cerrno>
#include <cstdint>

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"

namespace msc::cost {
namespace {

constexpr std::string_view kMagic = "MSCR";

void AppendNumber(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(number >> shift & 0xFFU);
  }
}

std::uint32_t NumberAt(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (unsigned i = 0; i < 4; ++i) {
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << 8 * i;
  }
  return number;
}

}  // namespace

std::string FrameRecord(std::string_view payload) {
  Check(payload.size() <= UINT32_MAX, "a record's length fits 32 bits");
  std::string bytes(kMagic);
  AppendNumber(bytes, static_cast<std::uint32_t>(payload.size()));
  AppendNumber(bytes, Crc32c(payload));
  bytes += payload;
  return bytes;
}

std::optional<std::string> ParseRecord(std::string_view bytes) {
  if (bytes.size() < kRecordOverhead || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view payload = bytes.substr(kRecordOverhead);
  if (NumberAt(bytes, 4) != payload.size() || NumberAt(bytes, 8) != Crc32c(payload)) {
    return std::nullopt;
  }
  return std::string(payload);
}

void WriteRecord(int fd, std::string_view payload) {
  const std::string record = FrameRecord(payload);
  std::string_view bytes = record;
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw SystemError("cannot write the result record", errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace msc::cost
