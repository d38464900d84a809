#pragma once

#include <cstddef>
#include <span>

namespace msc {

/// Read-only view of a whole file, whose bytes the kernel loads when they are first read and may
/// drop again at any time. The bytes stay as they are only while nobody writes to the file; if it
/// becomes shorter, reading past its new end raises SIGBUS. Any thread may read.
class MappedFile {
 public:
  /// Maps the first `size` bytes, at least one, of the open file `fd`; the caller may close it
  /// afterwards. Throws SystemError if it cannot be mapped.
  MappedFile(int fd, std::size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Starts at a page, so that an offset in the file has the alignment of its address.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace msc
