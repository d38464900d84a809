#include "compiler/runtime/memory_plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

bool Meet(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Returns the start of the smallest sufficient gap between placed buffers that live at the same
// time as `buffer`; the end of the last of them if there is no such gap. `placed` is sorted by
// offset.
std::size_t FindOffset(std::span<const Lifetime> buffers, const MemoryPlan& plan,
                       std::span<const std::size_t> placed, std::size_t buffer) {
  // The end of what is occupied so far. Placed buffers may overlap each other, so it never falls.
  std::size_t end = 0;
  std::size_t best = 0;
  std::size_t best_gap = std::numeric_limits<std::size_t>::max();
  for (const std::size_t other : placed) {
    if (!Meet(buffers[buffer], buffers[other])) continue;
    if (plan.offsets[other] > end) {
      const std::size_t gap = plan.offsets[other] - end;
      if (gap >= buffers[buffer].bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
    }
    end = std::max(end, plan.offsets[other] + buffers[other].bytes);
  }
  return best_gap == std::numeric_limits<std::size_t>::max() ? end : best;
}

using Order = std::vector<std::size_t>;

// Places buffers one by one, in this order.
MemoryPlan PlaceInOrder(std::span<const Lifetime> buffers, const Order& order) {
  MemoryPlan plan{.offsets = std::vector<std::size_t>(buffers.size(), 0), .bytes = 0};
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t buffer : order) {
    if (buffers[buffer].bytes == 0) continue;
    const std::size_t offset = FindOffset(buffers, plan, placed, buffer);
    plan.offsets[buffer] = offset;
    plan.bytes = std::max(plan.bytes, offset + buffers[buffer].bytes);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::size_t value, std::size_t other) { return value < plan.offsets[other]; });
    placed.insert(at, buffer);
  }
  return plan;
}

// Returns the buffers by falling `weight`.
template <class Weight>
Order OrderBy(std::span<const Lifetime> buffers, const Weight& weight) {
  Order order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return weight(buffers[a]) > weight(buffers[b]);
  });
  return order;
}

// Places the topmost buffers of the arena first in the next try, until that does not help any more.
MemoryPlan Improved(std::span<const Lifetime> buffers, Order order, std::size_t bound) {
  constexpr int kTries = 24;
  MemoryPlan best = PlaceInOrder(buffers, order);
  MemoryPlan last = best;
  for (int i = 0; i < kTries && best.bytes > bound; ++i) {
    const auto at_the_top = [&](std::size_t buffer) {
      return last.offsets[buffer] + buffers[buffer].bytes == last.bytes;
    };
    const auto moved = std::stable_partition(order.begin(), order.end(), at_the_top);
    if (moved == order.end()) break;
    last = PlaceInOrder(buffers, order);
    if (last.bytes < best.bytes) best = last;
  }
  return best;
}

}  // namespace

MemoryPlan PlanMemory(std::span<const Lifetime> buffers, std::size_t alignment) {
  Check(std::has_single_bit(alignment), "the alignment is a power of two");
  // Rounded sizes keep every offset aligned.
  std::vector<Lifetime> rounded(buffers.begin(), buffers.end());
  for (Lifetime& buffer : rounded) {
    Check(buffer.first <= buffer.last, "a lifetime ends after it starts");
    // For a power of two, clearing the low bits rounds down.
    buffer.bytes = (buffer.bytes + alignment - 1) & ~(alignment - 1);
  }
  const auto bytes = [](const Lifetime& buffer) { return buffer.bytes; };
  const auto steps = [](const Lifetime& buffer) { return buffer.last - buffer.first + 1; };
  const auto both = [&](const Lifetime& buffer) { return buffer.bytes * steps(buffer); };
  const std::size_t bound = MemoryLowerBound(rounded);
  MemoryPlan best = Improved(rounded, OrderBy(rounded, bytes), bound);
  // No plan is smaller than the bound, so a plan that reaches it ends the search.
  for (const Order& order : {OrderBy(rounded, both), OrderBy(rounded, steps)}) {
    if (best.bytes == bound) break;
    MemoryPlan other = Improved(rounded, order, bound);
    if (other.bytes < best.bytes) best = std::move(other);
  }
  return best;
}

std::size_t MemoryLowerBound(std::span<const Lifetime> buffers) {
  std::size_t most = 0;
  // The maximum is reached at a step where some lifetime starts.
  for (const Lifetime& start : buffers) {
    std::size_t alive = 0;
    for (const Lifetime& buffer : buffers) {
      if (buffer.first <= start.first && start.first <= buffer.last) alive += buffer.bytes;
    }
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace msc
