#pragma once

#include <chrono>
#include <string>

namespace msc {

/// Returns "00:14:05": hours, minutes and seconds, rounded; negative durations count as 0.
[[nodiscard]] std::string FormatDuration(std::chrono::duration<double> duration);

}  // namespace msc
