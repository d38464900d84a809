#pragma once

#include <cstdint>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Accumulates how far numbers are from their reference ("wanted"), as absolute and relative error
/// together.
///
/// The error is the smaller of two: the largest difference relative to the range (largest - least)
/// of all reference numbers, and the largest difference relative to the reference number itself.
/// Each covers a case in which the other fails. Constants and single numbers have no range, and
/// numbers far from 0 have a small range compared with their size; numbers on both sides of 0 have
/// a range, but some have hardly any size. Both denominators are at least kLeastSize, because a sum
/// whose terms cancel keeps a rounding error of about 1e-7 of its terms. A number that is not
/// finite is correct if the reference is the same infinity or also NaN.
class Closeness {
 public:
  static constexpr double kLeastSize = 0.01;

  void Add(double wanted, double got);
  /// Returns 0 if nothing was added, and infinity if a number is not finite where the reference is
  /// finite, or the other way round.
  [[nodiscard]] double Error() const;
  /// Returns how many numbers are not finite where the reference is finite, or the other way round.
  [[nodiscard]] std::int64_t apart() const { return apart_; }

 private:
  double low_ = 0;
  double high_ = 0;
  double largest_ = 0;
  double relative_ = 0;
  std::int64_t finite_ = 0;
  std::int64_t apart_ = 0;
};

/// Returns the Closeness error over all numbers of a float tensor. For integers it returns the
/// share of elements that differ, because these are class numbers or indices, whose distance has no
/// meaning. For strings it returns 0 if the tensors are equal, else 1. Returns infinity if types or
/// dims differ.
[[nodiscard]] double TensorDifference(const Tensor& wanted, const Tensor& got);

/// Returns how many numbers of a tensor are not finite; 0 for integers and strings.
[[nodiscard]] std::int64_t CountNotFinite(const Tensor& tensor);

}  // namespace msc::cost
