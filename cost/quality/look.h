#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Samples and numbers of an output that are looked at; more would not change what they say.
inline constexpr std::int64_t kMostLookedAt = 256;
inline constexpr std::int64_t kMostNumbers = 1 << 22;

/// Rows [samples x positions, classes] of an output along one axis.
struct Rows {
  std::vector<double> numbers;
  std::size_t size = 1;  ///< of a row
  [[nodiscard]] std::size_t count() const { return numbers.size() / size; }
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    return std::span(numbers).subspan(row * size, size);
  }
};

/// Returns the rows of [N, ...] along `axis`, of the first samples. The tensor is not empty.
[[nodiscard]] Rows RowsAlong(const Tensor& tensor, std::int64_t axis);

/// What the numbers of rows look like.
struct Look {
  bool probabilities = false;  ///< every row has the sum 1, and no number is negative
  bool unit = false;           ///< every row has the Euclidean norm 1
  double confidence = 0;       ///< mean over rows of the largest probability after a softmax
  double most_frequent = 0;    ///< share of the rows whose largest number is at the same place
  std::int32_t frequent = 0;   ///< this place
  /// Variance of the means of the columns / mean variance of the columns: large where each column
  /// has a level of its own, like the coordinates of a landmark.
  double levels = 0;
  double units = 1;        ///< largest standard deviation of a column / least
  double magnitude = 0;    ///< mean absolute number
  double correlation = 0;  ///< mean correlation of two columns; 0 if no two vary
};

[[nodiscard]] Look LookAt(const Rows& rows);

/// Returns whether all numbers are whole, and not all are the same: class numbers and counts may be
/// stored as floats.
[[nodiscard]] bool AreWhole(const Tensor& tensor);

/// Returns the share of the numbers in [least, most]; 0 of an empty tensor.
[[nodiscard]] double ShareWithin(const Tensor& tensor, double least, double most);

}  // namespace msc::cost
