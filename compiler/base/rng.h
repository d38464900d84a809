#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace msc {

/// Mixes several numbers into one seed (SplitMix64 finalizer, Steele et al. 2014). Order matters.
[[nodiscard]] std::uint64_t MixSeed(std::initializer_list<std::uint64_t> parts);

/// Draws that are the same under every standard library: std::mt19937_64 is fixed by the standard,
/// its distributions are not, so they are written here.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, bound), without bias. `bound` >= 1.
  [[nodiscard]] std::uint64_t Below(std::uint64_t bound);
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double Uniform();
  /// Normal with mean 0 and deviation 1 (Marsaglia's polar method).
  [[nodiscard]] double Normal();

 private:
  std::mt19937_64 engine_;
};

}  // namespace msc
