#pragma once

#include <algorithm>
#include <chrono>

namespace msc::cost {

/// Chooses how long a loop that polls several sources sleeps before it polls again. The pause is
/// short after an event, so that what follows is handled quickly, and grows while nothing happens,
/// because every poll takes a core from the measurement that runs there.
class Patience {
 public:
  [[nodiscard]] std::chrono::milliseconds Next() {
    const auto wait = next_;
    next_ = std::min(2 * next_, kMost);
    return wait;
  }
  /// Records an event: the next pause is the shortest.
  void Reset() { next_ = kLeast; }

 private:
  static constexpr std::chrono::milliseconds kLeast{1};
  static constexpr std::chrono::milliseconds kMost{32};
  std::chrono::milliseconds next_ = kLeast;
};

}  // namespace msc::cost
