#pragma once

#include <algorithm>
#include <chrono>

namespace msc::cost {

/// How long somebody who waits for several things at once sleeps before looking again: shortly
/// after something happened, so that what follows on it is quick; longer the longer nothing does,
/// because every look takes a core from whatever is being measured there.
class Patience {
 public:
  [[nodiscard]] std::chrono::milliseconds Next() {
    const auto wait = next_;
    next_ = std::min(2 * next_, kMost);
    return wait;
  }
  /// Something happened.
  void Reset() { next_ = kLeast; }

 private:
  static constexpr std::chrono::milliseconds kLeast{1};
  static constexpr std::chrono::milliseconds kMost{32};
  std::chrono::milliseconds next_ = kLeast;
};

}  // namespace msc::cost
