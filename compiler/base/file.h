#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msc {

/// The whole file. Throws UserError if it is missing, not a regular file, or larger than `limit`.
[[nodiscard]] std::string ReadFile(const std::string& path,
                                   std::uint64_t limit = std::uint64_t{1} << 30U);

/// Replaces `path` so that a reader, or a machine that loses power, sees the old bytes or the new
/// ones and never a part: temporary file in the same folder, fsync, rename, fsync of the folder.
/// Throws SystemError and leaves `path` as it was.
void WriteFileAtomic(const std::string& path, std::string_view bytes);

/// Makes `path` and its missing parents. Throws SystemError.
void MakeFolders(const std::string& path);

}  // namespace msc
