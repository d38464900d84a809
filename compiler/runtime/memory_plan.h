#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc {

/// Of the arena and of every buffer in it, in bytes: a cache line.
inline constexpr std::size_t kArenaAlignment = 64;

/// One buffer with its lifetime in steps, both ends included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< one per buffer, multiples of the alignment
  std::size_t bytes = 0;             ///< size of the arena
};

/// Places buffers so that two whose lifetimes overlap never share a byte. Greedy by size, best fit
/// (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", section
/// 5.2), then the same by lifetime and by size times lifetime; each is tried again with the buffers
/// that lie highest placed first, while the arena is larger than the lower bound. The smallest
/// arena wins. `alignment` is a power of two. Quadratic in the number of buffers.
[[nodiscard]] MemoryPlan PlanMemory(std::span<const Lifetime> buffers, std::size_t alignment = 64);

/// The most bytes alive at one step: no plan can be smaller.
[[nodiscard]] std::size_t MemoryLowerBound(std::span<const Lifetime> buffers);

}  // namespace msc
