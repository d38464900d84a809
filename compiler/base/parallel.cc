#include "compiler/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <sched.h>

namespace msc {

int CoreCount() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

void ForEachOnThreads(int threads, std::size_t count,
                      const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(1, threads)));
         ++i) {
      others.emplace_back(work);
    }
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace msc
