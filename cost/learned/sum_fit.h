#pragma once

#include <span>
#include <vector>

namespace msc::cost {

/// Factors at least 0, such that each row's products with them sum to its target about: the
/// logarithms of sum and target differ little, as least squares of them find it, by weights that
/// are set anew a few times (Gauss-Newton), with less weight to those that are far off (Huber).
/// Columns of zeros get the factor 0.
/// Time: rows * columns^2. InternalError unless there are rows, all of one length, and as many
/// targets; rows are at least 0 and targets above it, all finite.
[[nodiscard]] std::vector<double> FitSum(std::span<const std::vector<double>> rows,
                                         std::span<const double> targets);

/// The sum of products.
[[nodiscard]] double SumOf(std::span<const double> row, std::span<const double> factors);

}  // namespace msc::cost
