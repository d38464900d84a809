#pragma once

#include <cstdint>
#include <span>

namespace msc::cost {

/// Returns the middle value, or the mean of the two middle ones. InternalError if there are no
/// values.
[[nodiscard]] double Median(std::span<const double> values);

/// Returns median(|x - median|) / median, a spread that one outlier does not change. 0 for one
/// value. All values must be > 0.
[[nodiscard]] double MedianPercentageError(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// Returns a 95 % interval of the median: the 2.5 % and 97.5 % quantiles of the medians of 1000
/// resamples drawn with replacement. Repeatable: the same seed gives the same interval.
/// Source: Efron and Tibshirani, "An introduction to the bootstrap" (1993), chapter 13.
[[nodiscard]] Interval BootstrapMedian(std::span<const double> values, std::uint64_t seed);

}  // namespace msc::cost
