#include "compiler/base/large_memory.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace msc {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20U;
constexpr std::size_t kLarge = std::size_t{1} << 20U;

std::size_t RoundUp(std::size_t bytes, std::size_t to) {
  if (bytes > SIZE_MAX - to) throw std::bad_alloc();
  return (bytes + to - 1) / to * to;
}

/// Maps `bytes` from the start of a huge page on.
std::byte* Map(std::size_t bytes) {
  // mmap promises a page of 4 KiB only, so it maps one huge page more, and gives back what is
  // before and behind.
  const std::size_t all = RoundUp(bytes, kHugePage) + kHugePage;
  void* const start =
      ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  auto* const first = static_cast<std::byte*>(start);
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(first, before);
  ::munmap(first + before + bytes, all - before - bytes);
  AskForHugePages(first + before, bytes);
  return first + before;
}

}  // namespace

void AskForHugePages(std::byte* first, std::size_t bytes) noexcept {
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  if (bytes < before + kHugePage) return;
  // A kernel without huge pages refuses, which changes nothing.
  ::madvise(first + before, (bytes - before) / kHugePage * kHugePage, MADV_HUGEPAGE);
}

LargeMemory::LargeMemory(std::size_t bytes) {
  if (bytes < kLarge) {
    const std::size_t lines = RoundUp(bytes > 0 ? bytes : 1, kLine);
    data_ = static_cast<std::byte*>(std::aligned_alloc(kLine, lines));
    if (data_ == nullptr) throw std::bad_alloc();
    return;
  }
  mapped_ = RoundUp(bytes, kHugePage);
  data_ = Map(mapped_);
}

LargeMemory::LargeMemory(LargeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), mapped_(std::exchange(other.mapped_, 0)) {}

LargeMemory& LargeMemory::operator=(LargeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

LargeMemory::~LargeMemory() {
  if (mapped_ > 0) {
    ::munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

}  // namespace msc
