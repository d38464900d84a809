#pragma once

#include <cstdint>
#include <span>

namespace msc::cost {

/// Middle value; mean of the two middle ones where the count is even. InternalError if empty.
[[nodiscard]] double Median(std::span<const double> values);

/// median(|x - median|) / median: spread that one outlier does not move. 0 for one value. Values
/// are > 0.
[[nodiscard]] double MedianPercentageError(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95 % interval of the median: the 2.5 % and 97.5 % quantiles of the medians of 1000 resamples
/// drawn with replacement. The same seed gives the same interval.
/// Source: Efron and Tibshirani, "An introduction to the bootstrap" (1993), chapter 13.
[[nodiscard]] Interval BootstrapMedian(std::span<const double> values, std::uint64_t seed);

}  // namespace msc::cost
