#include "gym/search/report/text.h"

#include <array>
#include <ctime>
#include <string_view>

#include <nlohmann/json.hpp>

namespace msc::gym {

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += "\\''";
  }
  return quoted + "'";
}

std::optional<Measured> SpeedUp(const cost::Outcome& outcome) {
  if (!outcome.latency) return std::nullopt;
  const cost::Latency& latency = *outcome.latency;
  return Measured{
      .value = 1 / latency.ratio, .low = 1 / latency.ratio_high, .high = 1 / latency.ratio_low};
}

std::string MissedText(const Objective& objective, const Evaluation& evaluation) {
  if (!evaluation.Complete()) return "";
  std::string text;
  for (const Constraint& limit : objective.subject_to) {
    const auto value = evaluation.metrics.find(limit.metric);
    if (value == evaluation.metrics.end() || value->second <= limit.limit) continue;
    text += (text.empty() ? "" : ", ") + limit.metric + " <= " + nlohmann::json(limit.limit).dump();
  }
  return text;
}

}  // namespace msc::gym
