#include "cost/quality/look.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "compiler/ops/eval.h"
#include "cost/quality/distances.h"

namespace msc::cost {
namespace {

constexpr double kClose = 1e-3;

/// Moments of the columns of rows.
struct Columns {
  std::vector<double> means;
  std::vector<double> variances;
};

Columns ColumnsOf(const Rows& rows) {
  const auto n = static_cast<double>(std::max<std::size_t>(rows.count(), 1));
  Columns columns{std::vector<double>(rows.size), std::vector<double>(rows.size)};
  for (std::size_t i = 0; i < rows.count(); ++i) {
    for (std::size_t c = 0; c < rows.size; ++c) {
      columns.means[c] += rows[i][c] / n;
      columns.variances[c] += rows[i][c] * rows[i][c] / n;
    }
  }
  for (std::size_t c = 0; c < rows.size; ++c) {
    columns.variances[c] =
        std::max(columns.variances[c] - columns.means[c] * columns.means[c], 0.0);
  }
  return columns;
}

/// Returns the mean correlation of two different columns, from the variance of the sum of all
/// columns in units of their deviations: n + n (n - 1) r.
double MeanCorrelation(const Rows& rows, const Columns& columns) {
  double varying = 0;
  for (const double variance : columns.variances) varying += variance > 0 ? 1 : 0;
  if (varying < 2) return 0;
  double squares = 0;
  for (std::size_t i = 0; i < rows.count(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < rows.size; ++c) {
      if (columns.variances[c] > 0) {
        sum += (rows[i][c] - columns.means[c]) / std::sqrt(columns.variances[c]);
      }
    }
    squares += sum * sum / static_cast<double>(rows.count());
  }
  return (squares - varying) / (varying * (varying - 1));
}

}  // namespace

Rows RowsAlong(const Tensor& tensor, std::int64_t axis) {
  const Dims& dims = tensor.dims();
  const auto at = dims.begin() + axis;
  const std::int64_t size = *at;
  const std::int64_t inner =
      std::accumulate(at + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t each =
      std::accumulate(dims.begin() + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t samples =
      std::min({dims[0], kMostLookedAt, std::max<std::int64_t>(kMostNumbers / each, 1)});
  Rows rows{.numbers = {}, .size = static_cast<std::size_t>(size)};
  rows.numbers.reserve(static_cast<std::size_t>(samples * each));
  for (std::int64_t outer = 0; outer < samples * each / (size * inner); ++outer) {
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t c = 0; c < size; ++c) {
        rows.numbers.push_back(NumberAt(tensor, (outer * size + c) * inner + i));
      }
    }
  }
  return rows;
}

Look LookAt(const Rows& rows) {
  Look look{.probabilities = true, .unit = true};
  std::vector<double> counts(rows.size);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const std::span<const double> row = rows[i];
    double sum = 0;
    double norm = 0;
    const std::size_t best = ArgMax(row);
    double exps = 0;
    for (const double number : row) {
      sum += number;
      norm += number * number;
      exps += std::exp(number - row[best]);
      look.magnitude += std::abs(number);
      look.probabilities = look.probabilities && number >= 0;
    }
    look.probabilities = look.probabilities && std::abs(sum - 1) < kClose;
    look.unit = look.unit && std::abs(norm - 1) < kClose;
    look.confidence += 1 / exps;
    counts[best] += 1;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(rows.count(), 1));
  look.confidence /= n;
  look.magnitude /= n * static_cast<double>(rows.size);
  const std::size_t most = ArgMax(counts);
  look.frequent = static_cast<std::int32_t>(most);
  look.most_frequent = counts[most] / n;
  const Columns columns = ColumnsOf(rows);
  const double mean = std::accumulate(columns.means.begin(), columns.means.end(), 0.0) /
                      static_cast<double>(rows.size);
  double between = 0;
  for (const double level : columns.means) between += (level - mean) * (level - mean);
  const double within = std::accumulate(columns.variances.begin(), columns.variances.end(), 0.0);
  const auto [least, largest] = std::ranges::minmax(columns.variances);
  if (within > 0) look.levels = between / within;
  if (least > 0) look.units = std::sqrt(largest / least);
  look.correlation = MeanCorrelation(rows, columns);
  return look;
}

bool AreWhole(const Tensor& tensor) {
  // Larger floats are whole whatever they mean.
  const double most = tensor.dtype() == DType::kBF16  ? 256
                      : tensor.dtype() == DType::kF16 ? 2048
                                                      : 1e6;
  bool varies = false;
  for (std::int64_t i = 0; i < std::min(tensor.size(), kMostNumbers); ++i) {
    const double number = NumberAt(tensor, i);
    if (number != std::round(number) || std::abs(number) > most) return false;
    varies = varies || number != NumberAt(tensor, 0);
  }
  return varies;
}

double ShareWithin(const Tensor& tensor, double least, double most) {
  const std::int64_t count = std::min(tensor.size(), kMostNumbers);
  double within = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = NumberAt(tensor, i);
    within += number >= least && number <= most ? 1 : 0;
  }
  return count == 0 ? 0 : within / static_cast<double>(count);
}

}  // namespace msc::cost
