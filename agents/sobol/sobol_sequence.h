#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace msc::agents {

/// A digital sequence of Sobol's kind in any number of dimensions: of its first 2^k points exactly
/// one lies, in every dimension, in each interval [i / 2^k, (i + 1) / 2^k).
///
/// A dimension takes the next primitive polynomial over GF(2); its first direction numbers, which
/// are free, are drawn from a fixed seed. Points of many dimensions are spread less well than with
/// tuned numbers. Source: I. M. Sobol, 1967; P. Bratley and B. L. Fox, algorithm 659, 1988.
class SobolSequence {
 public:
  /// `dimensions` >= 1.
  explicit SobolSequence(std::size_t dimensions);
  /// Coordinate of point `n` as a 32-bit fraction, n < 2^32.
  [[nodiscard]] std::uint32_t At(std::uint64_t n, std::size_t dimension) const;

 private:
  std::vector<std::vector<std::uint32_t>> directions_;  ///< by dimension and bit of n
};

}  // namespace msc::agents
