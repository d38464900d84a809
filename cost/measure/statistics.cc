#include "cost/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::cost {
namespace {

/// Returns the median and reorders `values`.
double MedianInPlace(std::span<double> values) {
  const std::size_t middle = values.size() / 2;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), nth, values.end());
  if (values.size() % 2 == 1) return *nth;
  // Smaller values are in front of `nth` now; the largest of them is the other middle value.
  return (*std::max_element(values.begin(), nth) + *nth) / 2;
}

}  // namespace

double Median(std::span<const double> values) {
  Check(!values.empty(), "a median is taken of at least one value");
  std::vector<double> copy(values.begin(), values.end());
  return MedianInPlace(copy);
}

double MedianPercentageError(std::span<const double> values) {
  const double median = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - median));
  return MedianInPlace(distances) / median;
}

Interval BootstrapMedian(std::span<const double> values, std::uint64_t seed) {
  Check(!values.empty(), "an interval is taken of at least one value");
  constexpr std::size_t kResamples = 1000;
  Rng rng(seed);
  std::vector<double> medians(kResamples);
  std::vector<double> sample(values.size());
  for (double& median : medians) {
    for (double& value : sample) value = values[rng.Below(values.size())];
    median = MedianInPlace(sample);
  }
  std::sort(medians.begin(), medians.end());
  constexpr double kTail = 0.025;
  const auto cut = static_cast<std::size_t>(kTail * kResamples);
  return {medians[cut], medians[kResamples - 1 - cut]};
}

}  // namespace msc::cost
