#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cost/samples/zip_file.h"

namespace msc::cost {

/// Reads a file front to back and inflates a gzip file on the way. A reader never holds more bytes
/// than it requested, whatever size the file claims to expand to. Not thread-safe.
class ByteSource {
 public:
  /// Opens a file. UserError if it is missing, unreadable or not a regular file.
  explicit ByteSource(const std::string& path);
  /// Opens a member of a zip archive. A member that is a gzip file is not inflated again.
  ByteSource(const std::string& path, const ZipMember& member);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  /// Fills all of `out`. UserError if the file ends early or is damaged.
  void Fill(std::span<std::byte> out);
  /// Skips `count` bytes. UserError as for Fill.
  void Skip(std::uint64_t count);
  /// Returns the next bytes, up to `most`; none at the end. UserError as for Fill.
  [[nodiscard]] std::string Some(std::size_t most);
  /// Checks that everything was read, and the checksums. UserError otherwise.
  void ExpectEnd();
  /// Returns an upper bound on the bytes that a valid file holds: the size of a plain file, 1032
  /// times that of a gzip file (the largest ratio of DEFLATE). Readers compare sizes claimed by a
  /// header with it before they allocate memory.
  [[nodiscard]] std::uint64_t most_bytes() const noexcept { return most_bytes_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Handle;
  [[nodiscard]] std::size_t ReadSome(std::span<std::byte> out);
  [[nodiscard]] std::size_t ReadMember(std::span<std::byte> out);

  std::string path_;
  bool plain_ = true;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t position_ = 0;
  std::unique_ptr<Handle> handle_;
};

}  // namespace msc::cost
