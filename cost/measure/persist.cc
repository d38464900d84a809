#include "cost/measure/persist.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace msc::cost {

bool WaitToTryAgain(int tries, const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kFirst{200};
  constexpr std::chrono::milliseconds kCheck{20};
  if (tries >= kMaxTries) return false;
  // The pauses double: 0.2, 0.4, ... 3.2 s.
  const auto until = Clock::now() + kFirst * (1 << std::max(tries - 1, 0));
  for (;;) {
    if (stop && stop()) return false;
    const auto now = Clock::now();
    if (now >= until) return true;
    std::this_thread::sleep_for(std::min<Clock::duration>(until - now, kCheck));
  }
}

Failure GivenUp(Failure last, int tries) {
  last.detail = "given up after " + std::to_string(tries) + " tries; the last: " + last.detail;
  return last;
}

}  // namespace msc::cost
