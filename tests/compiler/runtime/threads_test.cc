#include "compiler/runtime/threads.h"

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace msc {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::int64_t count : {0, 1, 2, 3, 10, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      ParallelFor(threads, count, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        for (; begin < end; ++begin) ++visits[static_cast<std::size_t>(begin)];
      });
      for (const std::atomic<int>& visit : visits) EXPECT_EQ(visit, 1);
    }
  }
}

TEST(ParallelFor, UsesAsManyThreadsAsItMay) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  ParallelFor(3, 3, [&](std::int64_t, std::int64_t) {
    const std::scoped_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3U);
}

std::ptrdiff_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(ParallelFor, KeepsToOnePool) {
  const auto nothing = [](std::int64_t, std::int64_t) {};
  ParallelFor(3, 3, nothing);
  const std::ptrdiff_t threads = ThreadsOfThisProcess();
  UseThreads(3);
  for (int i = 0; i < 10; ++i) ParallelFor(3, 100, nothing);
  EXPECT_LE(ThreadsOfThisProcess(), threads);
}

}  // namespace
}  // namespace msc
