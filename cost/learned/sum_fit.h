#pragma once

#include <span>
#include <vector>

namespace msc::cost {

/// Returns factors >= 0 such that, for each row, the sum of its products with them is close to its
/// target. The fit minimises the squared differences of the logarithms of sum and target. It solves
/// a few weighted least squares problems with new weights each (Gauss-Newton) and gives less weight
/// to outliers (Huber). Columns of zeros get the factor 0. Takes time O(rows * columns^2).
/// InternalError unless there is at least one row, all rows have the same length, and there are as
/// many targets; rows must be at least 0 and targets above 0, all finite.
[[nodiscard]] std::vector<double> FitSum(std::span<const std::vector<double>> rows,
                                         std::span<const double> targets);

/// Returns the sum of products.
[[nodiscard]] double SumOf(std::span<const double> row, std::span<const double> factors);

}  // namespace msc::cost
