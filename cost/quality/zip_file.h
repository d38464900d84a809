#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msc::cost {

/// One file in a zip archive.
struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its bytes in the archive
  std::uint64_t stored = 0;  ///< bytes there
  std::uint64_t size = 0;    ///< bytes once inflated
  std::uint32_t crc = 0;
  bool deflated = false;  ///< else stored as it is
};

/// What a zip archive lists, as numpy.savez writes one: stored or deflated, not encrypted, not
/// split; zip64 too; names of at most 4 MiB in all. UserError for anything else, and where a member
/// would lie outside of the file or claims to expand more than DEFLATE can. Source: PKWARE APPNOTE
/// 6.3.
[[nodiscard]] std::vector<ZipMember> ZipMembers(const std::string& path);

}  // namespace msc::cost
