#pragma once

#include <cstdint>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// How far numbers are from those that are wanted, by absolute and relative error together.
///
/// The error is the smaller of two: the largest difference in parts of the range (largest - least)
/// of all that is wanted, and the largest one in parts of the wanted number itself. A constant, or
/// one number alone, has no range, and what lies far from 0 has little of it; what crosses 0 has a
/// range, but numbers without size. Neither counts as less than kLeastSize: sums that cancel leave
/// about 1e-7 of what was added. What is not finite is right where the same is wanted.
class Closeness {
 public:
  static constexpr double kLeastSize = 0.01;

  void Add(double wanted, double got);
  /// 0 where nothing was added; infinity where something is not finite that should be, or the other
  /// way round.
  [[nodiscard]] double Error() const;
  /// Numbers of those that are not finite where finite ones are wanted, or the other way round.
  [[nodiscard]] std::int64_t apart() const { return apart_; }

 private:
  double low_ = 0;
  double high_ = 0;
  double largest_ = 0;
  double relative_ = 0;
  std::int64_t finite_ = 0;
  std::int64_t apart_ = 0;
};

/// Closeness of all numbers of a tensor of floats. Of integers the share that differs: they are
/// class numbers or indices, whose distance says nothing. Of texts 0 if they are equal, else 1.
/// Infinity where types or dims differ.
[[nodiscard]] double Difference(const Tensor& wanted, const Tensor& got);

/// Numbers of a tensor that are not finite; 0 for integers and texts.
[[nodiscard]] std::int64_t CountNotFinite(const Tensor& tensor);

}  // namespace msc::cost
