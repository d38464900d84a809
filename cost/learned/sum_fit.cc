#include "cost/learned/sum_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

constexpr int kRounds = 6;
constexpr int kSweeps = 300;
/// Logarithms that are off by more than this get less weight (Huber).
constexpr double kFar = 0.7;
/// Without this cap, a row whose sum is close to 0 would get a weight of up to 48.
constexpr double kMaxWeight = 9;
constexpr double kLeastSum = 1e-3;  ///< relative to the target

using Row = std::vector<double>;

/// Returns the weight of a row whose sum is `sum` times its target. With this weight the square of
/// (sum - 1) equals that of log(sum), except for outliers.
double WeightOf(double sum) {
  const double off = std::log(std::max(sum, kLeastSum));
  const double linear = std::max(sum, kLeastSum) - 1;
  const double weight = std::abs(linear) < kLeastSum ? 1 : off / linear * (off / linear);
  const double far = std::abs(off) > kFar ? kFar / std::abs(off) : 1;
  return std::min(weight, kMaxWeight) * far;
}

/// Minimises the weighted squares of (row * factors - 1) with factors >= 0 by coordinate descent:
/// one factor at a time, in kSweeps sweeps.
Row Solve(const std::vector<Row>& rows, const Row& weights) {
  const std::size_t width = rows.front().size();
  std::vector<Row> products(width, Row(width));
  Row sums(width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double weighted = weights[i] * rows[i][j];
      if (weighted == 0) continue;
      sums[j] += weighted;
      for (std::size_t k = 0; k < width; ++k) products[j][k] += weighted * rows[i][k];
    }
  }
  Row factors(width);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t j = 0; j < width; ++j) {
      if (products[j][j] <= 0) continue;
      const double off = sums[j] - SumOf(products[j], factors);
      // The quadratic is convex, so its least value along one factor that is at least 0 lies at the
      // clipped minimum.
      factors[j] = std::max(0.0, factors[j] + off / products[j][j]);
    }
  }
  return factors;
}

}  // namespace

double SumOf(std::span<const double> row, std::span<const double> factors) {
  return std::inner_product(row.begin(), row.end(), factors.begin(), 0.0);
}

std::vector<double> FitSum(std::span<const std::vector<double>> rows,
                           std::span<const double> targets) {
  Check(!rows.empty() && rows.size() == targets.size(), "a sum is fitted to samples");
  const std::size_t width = rows.front().size();
  Row largest(width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Check(rows[i].size() == width, "samples have the same terms");
    Check(std::isfinite(targets[i]) && targets[i] > 0, "targets are above 0");
    for (std::size_t j = 0; j < width; ++j) {
      Check(std::isfinite(rows[i][j]) && rows[i][j] >= 0, "terms are at least 0");
      largest[j] = std::max(largest[j], rows[i][j]);
    }
  }
  // Divide rows by their targets, so that every target is 1, and columns by their maxima, so that
  // columns have similar sizes.
  std::vector<Row> parts(rows.begin(), rows.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      if (largest[j] > 0) parts[i][j] /= largest[j] * targets[i];
    }
  }
  Row weights(rows.size(), 1);
  Row factors;
  // Iteratively reweighted least squares: each round weighs rows by the sums of the round before.
  for (int round = 0; round < kRounds; ++round) {
    factors = Solve(parts, weights);
    for (std::size_t i = 0; i < parts.size(); ++i) weights[i] = WeightOf(SumOf(parts[i], factors));
  }
  for (std::size_t j = 0; j < width; ++j) factors[j] = largest[j] > 0 ? factors[j] / largest[j] : 0;
  return factors;
}

}  // namespace msc::cost
