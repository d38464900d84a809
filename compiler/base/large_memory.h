#pragma once

#include <cstddef>

namespace msc {

/// A tensor of at least these bytes asks for huge pages itself, in memory of its own.
inline constexpr std::size_t kBytesWithOwnHugePages = std::size_t{8} << 20U;

/// Asks the kernel for huge pages where they fit whole into the block, which was not used yet.
void AskForHugePages(std::byte* first, std::size_t bytes) noexcept;

/// Uninitialised memory that starts at a cache line. From 1 MiB on the kernel is asked to back it
/// by huge pages (`man 2 madvise`, MADV_HUGEPAGE): a model reads all its weights in every run, and
/// with pages of 4 KiB it waits for their addresses, too. Where the kernel has none, pages are as
/// usual.
class LargeMemory {
 public:
  LargeMemory() noexcept = default;
  /// Throws std::bad_alloc if there is too little memory.
  explicit LargeMemory(std::size_t bytes);
  LargeMemory(LargeMemory&& other) noexcept;
  LargeMemory& operator=(LargeMemory&& other) noexcept;
  ~LargeMemory();

  /// Returns nullptr only where it was made without a size, or moved from.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;  ///< bytes of a mapping; 0: from the allocator
};

}  // namespace msc
