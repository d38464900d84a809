#include "gym/report/expected_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace msc::gym {

std::vector<std::optional<ExpectedRange>> RangesFromEarlier(
    std::span<const EstimatedResult> results) {
  constexpr double kTail = (1 - kRangeCoverage) / 2;
  std::vector<std::optional<ExpectedRange>> ranges;
  std::vector<double> ratios;  // ascending
  for (const EstimatedResult& result : results) {
    std::optional<ExpectedRange>& range = ranges.emplace_back();
    if (!(result.estimated > 0) || !(result.measured > 0)) continue;
    // The next ratio is equally likely to fall into each of the n + 1 gaps between n of them.
    const auto gaps = static_cast<double>(ratios.size() + 1);
    const auto left_out = static_cast<std::size_t>(std::floor(kTail * gaps + 1e-9));
    if (left_out >= 1) {
      range = {.low = result.estimated * ratios[left_out - 1],
               .high = result.estimated * ratios[ratios.size() - left_out]};
    }
    const double ratio = result.measured / result.estimated;
    ratios.insert(std::ranges::upper_bound(ratios, ratio), ratio);
  }
  return ranges;
}

}  // namespace msc::gym
