#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msc::cost {

/// One file in a zip archive.
struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of the member's bytes in the archive
  std::uint64_t stored = 0;  ///< size in the archive, in bytes
  std::uint64_t size = 0;    ///< size after inflating, in bytes
  std::uint32_t crc = 0;
  bool deflated = false;  ///< false: stored without compression
};

/// Lists the members of a zip archive like those that numpy.savez writes: stored or deflated, also
/// zip64, neither encrypted nor split, with a directory of at most 4 MiB. UserError for other
/// files, and if a member lies outside of the file or claims to expand more than DEFLATE can.
/// Source: PKWARE APPNOTE 6.3.
[[nodiscard]] std::vector<ZipMember> ZipMembers(const std::string& path);

}  // namespace msc::cost
