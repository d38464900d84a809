#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace msc {

/// Combines several numbers into one seed (finalizer of SplitMix64, Steele et al. 2014). The order
/// of `parts` matters.
[[nodiscard]] std::uint64_t MixSeed(std::initializer_list<std::uint64_t> parts);

/// Random number generator with the same draws under every standard library. The standard fixes
/// std::mt19937_64 but not its distributions, so this class implements them.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  /// Draws uniformly from [0, bound), without bias. `bound` >= 1.
  [[nodiscard]] std::uint64_t Below(std::uint64_t bound);
  /// Draws uniformly from [0, 1), a multiple of 2^-53.
  [[nodiscard]] double Uniform();
  /// Draws from the normal distribution with mean 0 and standard deviation 1 (Marsaglia's polar
  /// method).
  [[nodiscard]] double Normal();

 private:
  std::mt19937_64 engine_;
};

}  // namespace msc
