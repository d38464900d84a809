#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace msc::agents {

/// A Sobol sequence in any number of dimensions: in every dimension, exactly one of its first 2^k
/// points is in each interval [i / 2^k, (i + 1) / 2^k).
///
/// Each dimension uses the next primitive polynomial over GF(2). Its first direction numbers are
/// free, and drawn from a fixed seed, so that points in many dimensions are spread less evenly than
/// with tuned numbers. Source: I. M. Sobol, 1967; P. Bratley and B. L. Fox, algorithm 659, 1988.
class SobolSequence {
 public:
  /// Creates the direction numbers. `dimensions` >= 1.
  explicit SobolSequence(std::size_t dimensions);
  /// Returns a coordinate of point `n` < 2^32 as a 32-bit fraction.
  [[nodiscard]] std::uint32_t Coordinate(std::uint64_t n, std::size_t dimension) const;

 private:
  std::vector<std::vector<std::uint32_t>> directions_;  ///< by dimension and bit of n
};

}  // namespace msc::agents
