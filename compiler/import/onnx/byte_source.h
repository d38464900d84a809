#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msc {
class InputFile;
}  // namespace msc

namespace msc::detail {

/// The bytes of a model: in memory, or in a file of which only what is asked for is read. Refers to
/// the memory or the file, which must outlive it.
class ByteSource {
 public:
  explicit ByteSource(std::string_view memory) : memory_(memory), size_(memory.size()) {}
  explicit ByteSource(const InputFile& file);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` from `offset` on. Throws UserError if the source has no such range, which is also
  /// so for a file that has become shorter.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string_view memory_;
  const InputFile* file_ = nullptr;  ///< null if the bytes are in memory
  std::uint64_t size_ = 0;
};

/// Reads a source from front to back through a small buffer. The caller asks for no byte past the
/// end of the source.
class ByteCursor {
 public:
  explicit ByteCursor(const ByteSource& source) : source_(source) {}

  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
  [[nodiscard]] unsigned char Next() {
    if (at_ - window_at_ >= window_.size()) Fill();
    return static_cast<unsigned char>(window_[static_cast<std::size_t>(at_++ - window_at_)]);
  }
  /// Passes `count` bytes, without reading those outside the buffer.
  void Skip(std::uint64_t count) noexcept { at_ += count; }
  /// Passes `count` bytes, and appends them to `out`.
  void Take(std::uint64_t count, std::string& out);

 private:
  void Fill();

  const ByteSource& source_;
  std::uint64_t at_ = 0;
  std::string window_;  ///< the bytes of the source from window_at_ on
  std::uint64_t window_at_ = 0;
};

}  // namespace msc::detail
