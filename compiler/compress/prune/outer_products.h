#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace msc {

/// Rows of floats as doubles, in panels of a few columns, as AddProducts reads them.
class Panels {
 public:
  /// Takes `count` rows of `columns` values, which are `stride` apart.
  Panels(const float* rows, std::int64_t count, std::int64_t columns, std::int64_t stride);
  /// Takes `rows` rows of `columns` values. Value c of row r is values[r * row_stride + c *
  /// column_stride].
  Panels(const double* values, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
         std::int64_t column_stride);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Returns the panel of columns [kWidth i, kWidth (i + 1)): [rows, kWidth], with zeros behind the
  /// last column.
  [[nodiscard]] const double* panel(std::int64_t i) const {
    return values_.data() + static_cast<std::ptrdiff_t>(i * rows_ * kWidth);
  }
  [[nodiscard]] std::int64_t count() const { return (columns_ + kWidth - 1) / kWidth; }

  static constexpr std::int64_t kWidth = 8;

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<double> values_;
};

/// A matrix in columns that products are added to; `stride` values lie between its columns.
struct ProductSums {
  double* first = nullptr;
  std::int64_t stride = 0;
};

/// Adds a^T b to `sums`, a matrix [a.columns, b.columns]. With `lower` only panels that hold
/// something of the lower triangle are computed, which halves the work for a^T a. Both have equally
/// many rows; some hundred at a time stay in the cache. The result is the same for any number of
/// threads, and an element does not depend on where in `a` and `b` its columns are. Products and
/// sums are in double: in f32, sums over many rows would lose the small eigenvalues of moments.
/// Thread-safe for distinct sums.
void AddProducts(const Panels& a, const Panels& b, bool lower, int threads, ProductSums sums);
/// Does the same for a matrix without gaps between its columns.
void AddProducts(const Panels& a, const Panels& b, bool lower, int threads, double* sums);

/// Returns d^T M d for each row d of `rows`, a matrix [count, n] in columns. M is `moments`, [n,
/// n], symmetric.
[[nodiscard]] std::vector<double> QuadraticForms(const double* rows, std::int64_t count,
                                                 const double* moments, std::int64_t n,
                                                 int threads);

}  // namespace msc
