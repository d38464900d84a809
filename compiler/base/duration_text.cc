#include "compiler/base/duration_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace msc {

std::string FormatDuration(std::chrono::duration<double> duration) {
  const auto seconds = static_cast<long long>(std::llround(std::max(0.0, duration.count())));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
                seconds % 60);
  return text.data();
}

}  // namespace msc
