#pragma once

#include <functional>
#include <string>

#include "compiler/base/result.h"

namespace msc::cost {

/// Most tries of work that another process keeps killing or stopping.
inline constexpr int kMaxTries = 6;

/// Waits before try number `tries` + 1, longer each time and about 6 s in all: the process that
/// killed the last try may do so again, and memory that ran out may become free. Returns false if
/// `stop` (optional) returns true, and without waiting if `tries` reached kMaxTries.
[[nodiscard]] bool WaitToTryAgain(int tries, const std::function<bool()>& stop);

/// Returns the failure of the last of `tries` interrupted tries, with their number in its detail.
[[nodiscard]] Failure GivenUp(Failure last, int tries);

}  // namespace msc::cost
