#include "compiler/base/large_memory.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <gtest/gtest.h>

namespace msc {
namespace {

std::uintptr_t AddressOf(const LargeMemory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}

TEST(LargeMemory, StartsAtALineAndLargeMemoryAtAHugePage) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65}, kMiB - 1, kMiB,
                                  2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    const LargeMemory memory(bytes);
    ASSERT_NE(memory.data(), nullptr) << bytes;
    EXPECT_EQ(AddressOf(memory) % (bytes < kMiB ? 64 : 2 * kMiB), 0U) << bytes;
    std::memset(memory.data(), 1, bytes);
  }
}

TEST(LargeMemory, KeepsItsAddressWhenMoved) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{3} << 20U}) {
    LargeMemory first(bytes);
    const std::uintptr_t address = AddressOf(first);
    LargeMemory second(std::move(first));
    EXPECT_EQ(AddressOf(second), address);
    LargeMemory third;
    EXPECT_EQ(third.data(), nullptr);
    third = std::move(second);
    EXPECT_EQ(AddressOf(third), address);
    std::memset(third.data(), 1, bytes);
  }
}

TEST(LargeMemory, RefusesMoreThanThereCanBe) {
  EXPECT_THROW(LargeMemory(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(LargeMemory(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace msc
