#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace msc {

/// Returns "00:14:05": hours, minutes and seconds, rounded; negative durations count as 0.
[[nodiscard]] std::string FormatDuration(std::chrono::duration<double> duration);

/// Reads "90", "90s", "10m" or "1.5h"; without a unit, seconds. UserError naming `what` for other
/// texts, and for durations that are not above 0.
[[nodiscard]] std::chrono::duration<double> ParseDuration(std::string_view text,
                                                          std::string_view what);

}  // namespace msc
