#include "cost/measure/probe.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

namespace msc::cost {
namespace {

using std::chrono::nanoseconds;

/// Assumed wait per involuntary context switch if the kernel does not count waiting: a short
/// scheduler slice.
constexpr nanoseconds kSlice = std::chrono::milliseconds(1);

/// Returns the sum over all threads of the second number of their schedstat: nanoseconds ready to
/// run but without a core.
nanoseconds Waited() {
  std::int64_t sum = 0;
  bool known = false;
  const std::string folder = "/proc/self/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir(folder.c_str()), ::closedir);
  while (const dirent* task = tasks ? ::readdir(tasks.get()) : nullptr) {
    std::ifstream stat(folder + static_cast<const char*>(task->d_name) + "/schedstat");
    std::int64_t ran = 0;
    std::int64_t waited = 0;
    if (!(stat >> ran >> waited)) continue;  // the thread ended, or the kernel does not count
    sum += waited;
    known = true;
  }
  if (known) return nanoseconds(sum);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw * kSlice;
}

/// Returns the eighth number of the first line of /proc/stat, which counts ticks; 0 if it is
/// missing.
nanoseconds Stolen() {
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  std::int64_t ticks = 0;
  constexpr int kStealColumn = 8;
  for (int column = 0; column < kStealColumn; ++column) {
    if (!(stat >> ticks)) return nanoseconds(0);
  }
  const auto per_second = static_cast<std::int64_t>(::sysconf(_SC_CLK_TCK));
  return nanoseconds(ticks * (std::int64_t{1'000'000'000} / per_second));
}

/// Computes a chain of dependent multiplications, whose speed depends on the core's clock and not
/// on memory.
void Yardstick() {
  constexpr int kLinks = 8000;
  // Volatile at both ends, so that the compiler neither folds nor drops the chain.
  volatile std::uint64_t end = 0x9E3779B97F4A7C15U;
  std::uint64_t x = end;
  for (int i = 0; i < kLinks; ++i) x = x * 0xD1342543DE82EF95U + 1;
  end = x;
}

}  // namespace

Probe SystemProbe() {
  return {[] { return std::chrono::steady_clock::now().time_since_epoch(); }, Waited, Stolen,
          Yardstick};
}

}  // namespace msc::cost
