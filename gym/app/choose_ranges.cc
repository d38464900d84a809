#include "gym/app/choose_ranges.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "gym/app/calibration_judge.h"

namespace msc::gym {
namespace {

/// In the order of preference.
constexpr std::array<std::string_view, 3> kMethods = {"mse", "minmax", "percentile"};
/// Share of the loss of the preferred method below which another one is better.
constexpr double kClearly = 0.9;

}  // namespace

ChosenRanges ChooseRanges(const JudgeRanges& judge, std::int64_t samples) {
  ChosenRanges chosen{.method = "", .tried = {}, .samples = samples};
  for (const std::string_view method : kMethods) {
    chosen.tried.push_back({std::string(method), judge(std::string(method))});
  }
  const double preferred = FineLoss(chosen.tried.front().judged);
  const auto best = std::ranges::min_element(
      chosen.tried, {}, [](const TriedRanges& tried) { return FineLoss(tried.judged); });
  const bool clearly = FineLoss(best->judged) < kClearly * preferred;
  chosen.method = clearly ? best->method : chosen.tried.front().method;
  return chosen;
}

std::string RangesText(const ChosenRanges& ranges) {
  std::string text = "ranges by " + ranges.method + ": on " + std::to_string(ranges.samples) +
                     " calibration samples, ";
  std::string others;
  for (const TriedRanges& tried : ranges.tried) {
    if (tried.method == ranges.method) {
      text += FineLossText(tried.judged);
    } else {
      others += "; by " + tried.method + " " + FineLossText(tried.judged);
    }
  }
  return text + others;
}

}  // namespace msc::gym
