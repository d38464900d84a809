#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cost/quality/zip_file.h"

namespace msc::cost {

/// Reads a file front to back; a gzip file is inflated on the way, so that a reader never holds
/// more than it asked for, however much the file claims to expand to. Not thread-safe.
class ByteSource {
 public:
  /// UserError if the file is missing, unreadable or not a regular file.
  explicit ByteSource(const std::string& path);
  /// A member of a zip archive; a member that is a gzip file is not inflated twice.
  ByteSource(const std::string& path, const ZipMember& member);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  /// Fills `out` to its end. UserError if the file ends early or is damaged.
  void Fill(std::span<std::byte> out);
  /// Passes over `count` bytes. UserError as for Fill.
  void Skip(std::uint64_t count);
  /// Up to `most` bytes; none at the end. UserError as for Fill.
  [[nodiscard]] std::string Some(std::size_t most);
  /// UserError unless everything was read; checksums are verified here.
  void ExpectEnd();
  /// No valid file holds more than this: the size of a plain file, 1032 times that of a gzip file
  /// (the largest ratio of DEFLATE). What a header claims is compared with it before any
  /// allocation.
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
