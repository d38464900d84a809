#include "compiler/base/parallel.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace msc {
namespace {

TEST(ForEachOnThreads, DoesEachOnce) {
  for (const int threads : {0, 1, 3, 40}) {
    std::array<std::atomic<int>, 20> done{};
    ForEachOnThreads(threads, done.size(), [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1) << threads;
  }
  ForEachOnThreads(3, 0, [](std::size_t) { FAIL(); });
}

TEST(ForEachOnThreads, UsesTheCallersThreadAloneForOne) {
  const std::thread::id caller = std::this_thread::get_id();
  ForEachOnThreads(1, 5, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ForEachOnThreads, ThrowsOnWhatWasThrownAndBeginsNoMore) {
  for (const int threads : {1, 4}) {
    std::atomic<int> begun = 0;
    try {
      ForEachOnThreads(threads, 1000, [&](std::size_t i) {
        ++begun;
        if (i == 2) throw std::runtime_error("the third");
        if (i > 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "the third");
    }
    EXPECT_LT(begun, 1000);
  }
}

TEST(CoreCount, IsAtLeastOne) {
  EXPECT_GE(CoreCount(), 1);
}

}  // namespace
}  // namespace msc
