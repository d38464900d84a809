#include "gym/search/report/text.h"

#include <array>
#include <ctime>

namespace msc::gym {

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

std::optional<Measured> SpeedUp(const cost::Outcome& outcome) {
  if (!outcome.latency) return std::nullopt;
  const cost::Latency& latency = *outcome.latency;
  return Measured{
      .value = 1 / latency.ratio, .low = 1 / latency.ratio_high, .high = 1 / latency.ratio_low};
}

}  // namespace msc::gym
