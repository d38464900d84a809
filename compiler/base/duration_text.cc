#include "compiler/base/duration_text.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/formatted.h"

namespace msc {

std::string FormatDuration(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<long long>(std::llround(std::max(0.0, duration.count())));
  return Formatted("%02lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace msc
