#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

/// SystemError where no file could be written at `path`, now rather than after long work. An empty
/// path is none.
void CheckWritable(const std::string& path);

/// WriteFileAtomic of what is too long to be held: nothing is at `path` before Commit, and nothing
/// is left behind without it.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();
  void Append(std::string_view bytes);
  void Commit();

 private:
  std::string path_;
  std::string temporary_;  ///< empty once it is renamed
  int fd_ = -1;
};

/// Bytes that are kept out of memory, in a file without a name that goes with the object: in
/// $TMPDIR, else in /var/tmp, which the machine does not keep in memory either. One thread at a
/// time.
class ScratchFile {
 public:
  ScratchFile() = default;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  /// SystemError naming the folder where it cannot be written to, or is full.
  void Write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// InternalError behind what was written.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string folder_;
  int fd_ = -1;  ///< opened by the first Write
};

/// Makes `path` and its missing parents. Throws SystemError.
void MakeFolders(const std::string& path);

}  // namespace msc
