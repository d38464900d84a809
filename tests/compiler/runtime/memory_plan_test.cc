#include "compiler/runtime/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc {
namespace {

std::vector<Lifetime> RandomBuffers(std::uint64_t seed, std::size_t count, std::size_t most_bytes) {
  Rng rng(seed);
  std::vector<Lifetime> buffers(count);
  for (Lifetime& buffer : buffers) {
    buffer.bytes = rng.Below(most_bytes + 1);
    const std::size_t a = rng.Below(8);
    const std::size_t b = rng.Below(8);
    buffer.first = std::min(a, b);
    buffer.last = std::max(a, b);
  }
  return buffers;
}

bool Meet(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool ShareAByte(const std::vector<Lifetime>& buffers, const MemoryPlan& plan, std::size_t a,
                std::size_t b) {
  return plan.offsets[a] < plan.offsets[b] + buffers[b].bytes &&
         plan.offsets[b] < plan.offsets[a] + buffers[a].bytes && buffers[a].bytes > 0 &&
         buffers[b].bytes > 0;
}

// Every optimal plan can be pushed down until each buffer rests on the floor or on another one
// that is alive with it; placing the buffers one by one in the order of their offsets, each as low
// as it goes above those it meets, finds such a plan. So trying every order finds the optimum.
std::size_t Optimum(const std::vector<Lifetime>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t best = SIZE_MAX;
  do {
    std::vector<std::size_t> top(buffers.size(), 0);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::size_t floor = 0;
      for (std::size_t j = 0; j < i; ++j) {
        if (Meet(buffers[order[i]], buffers[order[j]])) floor = std::max(floor, top[order[j]]);
      }
      top[order[i]] = floor + buffers[order[i]].bytes;
      bytes = std::max(bytes, top[order[i]]);
    }
    best = std::min(best, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(PlanMemory, NeverLetsTwoLiveBuffersShareAByte) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::vector<Lifetime> buffers = RandomBuffers(seed, 12, 1000);
    const MemoryPlan plan = PlanMemory(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes) << "seed " << seed;
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_FALSE(Meet(buffers[a], buffers[b]) && ShareAByte(buffers, plan, a, b))
            << "seed " << seed << ", buffers " << a << " and " << b;
      }
    }
  }
}

TEST(PlanMemory, AlignsEveryOffset) {
  for (const std::size_t alignment : {1U, 64U, 4096U}) {
    const MemoryPlan plan = PlanMemory(RandomBuffers(7, 20, 10000), alignment);
    for (const std::size_t offset : plan.offsets) EXPECT_EQ(offset % alignment, 0U);
  }
}

TEST(PlanMemory, StaysWithinAThirdOfTheOptimumOfTinyCasesAndMostlyMeetsIt) {
  int met = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Lifetime> buffers = RandomBuffers(seed, 6, 30);
    const std::size_t optimum = Optimum(buffers);
    const std::size_t planned = PlanMemory(buffers, 1).bytes;
    EXPECT_GE(planned, optimum) << "seed " << seed;
    EXPECT_LE(3 * planned, 4 * optimum) << "seed " << seed;
    met += planned == optimum ? 1 : 0;
  }
  EXPECT_GE(met, 190);
}

TEST(PlanMemory, IsNeverSmallerThanTheLowerBound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Lifetime> buffers = RandomBuffers(seed, 15, 1000);
    EXPECT_GE(PlanMemory(buffers, 1).bytes, MemoryLowerBound(buffers)) << "seed " << seed;
  }
}

TEST(PlanMemory, NeedsTwoBuffersForAChain) {
  std::vector<Lifetime> chain;
  for (std::size_t i = 0; i < 10; ++i) chain.push_back({.bytes = 128, .first = i, .last = i + 1});
  EXPECT_EQ(PlanMemory(chain).bytes, 256U);
}

TEST(PlanMemory, GivesEmptyBuffersNoRoom) {
  const std::vector<Lifetime> buffers = {{.bytes = 0, .first = 0, .last = 9}};
  EXPECT_EQ(PlanMemory(buffers).bytes, 0U);
  EXPECT_EQ(PlanMemory({}).bytes, 0U);
}

TEST(PlanMemory, RefusesALifetimeThatEndsBeforeItStarts) {
  const std::vector<Lifetime> buffers = {{.bytes = 1, .first = 2, .last = 1}};
  EXPECT_THROW((void)PlanMemory(buffers), InternalError);
}

TEST(MemoryLowerBound, IsTheMostBytesAliveAtOneStep) {
  const std::vector<Lifetime> buffers = {{.bytes = 10, .first = 0, .last = 1},
                                         {.bytes = 20, .first = 1, .last = 2},
                                         {.bytes = 25, .first = 2, .last = 3}};
  EXPECT_EQ(MemoryLowerBound(buffers), 45U);
}

}  // namespace
}  // namespace msc
