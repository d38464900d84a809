#pragma once

#include <functional>
#include <string>

#include "compiler/base/result.h"

namespace msc::cost {

/// What is tried again because it was killed or stopped from outside is tried so often in all.
inline constexpr int kMostTries = 6;

/// Waits before try number `tries` + 1, longer each time, 6 s in all: whoever killed the last may
/// still be at it, and memory that ran out may come back. False as soon as `stop` (where given)
/// says true, or where that try is one too many.
[[nodiscard]] bool WaitToTryAgain(int tries, const std::function<bool()>& stop);

/// Of the last of `tries`, which also were all interrupted: says so.
[[nodiscard]] Failure GivenUp(Failure last, int tries);

}  // namespace msc::cost
