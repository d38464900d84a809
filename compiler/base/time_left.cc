#include "compiler/base/time_left.h"

#include <algorithm>

namespace msc {

void TimeLeft::Expect(const std::string& kind, std::size_t parts, double each) {
  Kind& expected = kinds_[kind];
  expected.left += parts;
  if (each > 0) expected.each = each;
}

void TimeLeft::Done(const std::string& kind, double seconds) {
  // Parts that ran concurrently complete almost together: a part belongs to the previous burst if
  // it came within 50 ms and 1% of that burst's duration.
  constexpr double kPart = 0.01;
  constexpr double kMoment = 0.05;
  constexpr std::size_t kMaxTogether = 8;
  Kind& done = kinds_[kind];
  done.left -= std::min<std::size_t>(done.left, 1);
  done.parts += 1;
  const bool together = !done.bursts.empty() && seconds < kMoment &&
                        seconds < kPart * done.bursts.back().seconds &&
                        done.bursts.back().parts < std::max(kMaxTogether, at_once_);
  if (!together) done.bursts.push_back({});
  done.bursts.back().seconds += std::max(seconds, 0.0);
  done.bursts.back().parts += 1;
}

void TimeLeft::Skip(const std::string& kind) {
  Kind& skipped = kinds_[kind];
  skipped.left -= std::min<std::size_t>(skipped.left, 1);
}

std::optional<double> TimeLeft::EachOf(const Kind& kind) const {
  // Drops the first parts, which are not representative; of many parts, drops the older half.
  constexpr std::size_t kMany = 16;
  std::size_t dropped = 0;
  std::size_t from = 0;
  const std::size_t rounds = kind.parts / at_once_;
  const std::size_t drop = rounds < kMany ? at_once_ : kind.parts / 2;
  while (from < kind.bursts.size() && dropped < drop) dropped += kind.bursts[from++].parts;
  Burst rest;
  for (; from < kind.bursts.size(); ++from) {
    rest.seconds += kind.bursts[from].seconds;
    rest.parts += kind.bursts[from].parts;
  }
  if (rest.parts >= at_once_) return rest.seconds / static_cast<double>(rest.parts);
  return kind.each > 0 ? std::optional(kind.each) : std::nullopt;
}

std::optional<double> TimeLeft::Seconds() const {
  double seconds = 0;
  for (const auto& [name, kind] : kinds_) {
    if (kind.left == 0) continue;
    const std::optional<double> each = EachOf(kind);
    if (!each) return std::nullopt;
    seconds += *each * static_cast<double>(kind.left);
  }
  return seconds;
}

}  // namespace msc
