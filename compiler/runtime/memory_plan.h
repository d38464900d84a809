#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc {

/// Alignment in bytes of the arena and of every buffer in it: a cache line.
inline constexpr std::size_t kArenaAlignment = 64;

/// A buffer and its lifetime in steps, both ends included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The result of PlanMemory.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< one per buffer, multiples of the alignment
  std::size_t bytes = 0;             ///< size of the arena
};

/// Places buffers so that two whose lifetimes overlap never share a byte. Greedy by size, best fit
/// (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", section
/// 5.2), then the same by lifetime and by size times lifetime. While the arena is larger than the
/// lower bound, each order is tried again with the topmost buffers of the arena placed first. The
/// smallest arena wins. `alignment` is a power of two. Time is quadratic in the number of buffers.
[[nodiscard]] MemoryPlan PlanMemory(std::span<const Lifetime> buffers, std::size_t alignment = 64);

/// Returns the maximal number of bytes alive at one step: no plan can be smaller.
[[nodiscard]] std::size_t MemoryLowerBound(std::span<const Lifetime> buffers);

}  // namespace msc
