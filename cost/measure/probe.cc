#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "cost/measure/latency.h"

namespace msc::cost {
namespace {

std::int64_t Interruptions() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// The eighth number of the first line of /proc/stat, in ticks; 0 where there is none.
std::chrono::nanoseconds Stolen() {
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  std::int64_t ticks = 0;
  constexpr int kStealColumn = 8;
  for (int column = 0; column < kStealColumn; ++column) {
    if (!(stat >> ticks)) return std::chrono::nanoseconds(0);
  }
  const auto per_second = static_cast<std::int64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds(ticks * (std::int64_t{1'000'000'000} / per_second));
}

/// A chain of dependent multiplications: bound by the clock of the core, not by memory.
void Yardstick() {
  constexpr int kLinks = 8000;
  // Volatile at both ends, so that the chain is neither folded nor dropped.
  volatile std::uint64_t end = 0x9E3779B97F4A7C15U;
  std::uint64_t x = end;
  for (int i = 0; i < kLinks; ++i) x = x * 0xD1342543DE82EF95U + 1;
  end = x;
}

}  // namespace

Probe SystemProbe() {
  return {[] { return std::chrono::steady_clock::now().time_since_epoch(); }, Interruptions, Stolen,
          Yardstick};
}

}  // namespace msc::cost
