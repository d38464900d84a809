#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace msc {

/// Returns the contents of the file. Throws UserError if it is missing, unreadable, not a regular
/// file, or larger than `limit` bytes.
[[nodiscard]] std::string ReadFile(const std::string& path,
                                   std::uint64_t limit = std::uint64_t{1} << 30U);

/// A regular file that is read in pieces, at any offset. Several threads may read at once.
class InputFile {
 public:
  /// Throws UserError in the same cases as ReadFile.
  explicit InputFile(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 30U);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Returns the bytes that the file had when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` from `offset` on. Returns how many bytes it has read: all, unless the file ends
  /// before. Throws SystemError.
  [[nodiscard]] std::size_t Read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  int fd_ = -1;
};

/// Replaces the file at `path` atomically: a reader, or a machine after a power failure, sees
/// either the old bytes or the new bytes. Writes a temporary file in the same folder, then calls
/// fsync, rename, and fsync on the folder. Throws SystemError; unless only the last fsync failed,
/// `path` is then unchanged.
void WriteFileAtomic(const std::string& path, std::string_view bytes);

/// Throws SystemError if no file can be written at `path`, so that long work does not fail at its
/// end. Accepts an empty path, which stands for no file.
void CheckWritable(const std::string& path);

/// Does the same as WriteFileAtomic, for data that is written in pieces. The file appears at `path`
/// only at Commit; without Commit, the destructor removes the temporary file.
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
  std::string temporary_;  ///< empty after the rename
  int fd_ = -1;
};

/// Bytes kept on disk instead of in memory, in an unnamed file that lives as long as this object.
/// The file is in $TMPDIR, or else in /var/tmp, which is usually not a file system in memory.
/// Several threads may read while none writes.
class ScratchFile {
 public:
  ScratchFile() = default;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  /// Writes `bytes` at `offset`. Throws SystemError, which names the folder, if the folder is not
  /// writable or full.
  void Write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Fills `out` from `offset`. Throws InternalError if the range was not written.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string folder_;
  int fd_ = -1;  ///< opened by the first call of Write
};

/// Creates `path` and its missing parents. Throws SystemError.
void MakeFolders(const std::string& path);

}  // namespace msc
