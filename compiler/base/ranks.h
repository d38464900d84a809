#pragma once

#include <optional>
#include <span>
#include <vector>

namespace msc {

/// Rank of each value from 1 on, ties at their mean.
[[nodiscard]] std::vector<double> Ranks(std::span<const double> values);

/// Spearman's rank correlation, ties at their mean rank; nothing where all values of one side are
/// the same. As many values on both sides, at least two.
[[nodiscard]] std::optional<double> RankCorrelation(std::span<const double> a,
                                                    std::span<const double> b);

}  // namespace msc
