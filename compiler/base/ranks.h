#pragma once

#include <optional>
#include <span>
#include <vector>

namespace msc {

/// Returns the rank of each value, counted from 1; equal values get the mean of their ranks.
[[nodiscard]] std::vector<double> Ranks(std::span<const double> values);

/// Returns Spearman's rank correlation, with mean ranks for equal values, or nullopt if all values
/// of one side are equal. Both sides have the same length, at least two.
[[nodiscard]] std::optional<double> RankCorrelation(std::span<const double> a,
                                                    std::span<const double> b);

}  // namespace msc
