#include "compiler/base/duration_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"

namespace msc {

std::string FormatDuration(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<std::int64_t>(std::llround(std::max(0.0, duration.count())));
  return Formatted("%02ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::chrono::duration<double> ParseDuration(std::string_view text, std::string_view what) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double seconds = 0;
  if (unit.empty() || unit == "s") seconds = 1;
  if (unit == "m") seconds = 60;
  if (unit == "h") seconds = 3600;
  if (error != std::errc() || seconds == 0 || !std::isfinite(number) || number <= 0) {
    throw UserError(std::string(what) + " '" + std::string(text) +
                    "': write a duration such as 90s, 10m or 1.5h");
  }
  return std::chrono::duration<double>(number * seconds);
}

}  // namespace msc
