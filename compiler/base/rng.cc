#include "compiler/base/rng.h"

#include <cmath>

#include "compiler/base/error.h"

namespace msc {

std::uint64_t MixSeed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t seed = 0;
  for (const std::uint64_t part : parts) {
    seed += part + 0x9E3779B97F4A7C15U;
    seed = (seed ^ (seed >> 30U)) * 0xBF58476D1CE4E5B9U;
    seed = (seed ^ (seed >> 27U)) * 0x94D049BB133111EBU;
    seed ^= seed >> 31U;
  }
  return seed;
}

std::uint64_t Rng::Below(std::uint64_t bound) {
  // Not Check(): clang's static analyzer does not see that it never returns here.
  if (bound == 0) throw InternalError("Rng::Below has a positive bound", __FILE__, __LINE__);
  const std::uint64_t reject = (0 - bound) % bound;  // 2^64 mod bound
  while (true) {
    const std::uint64_t draw = engine_();
    if (draw >= reject) return draw % bound;
  }
}

double Rng::Uniform() {
  return static_cast<double>(engine_() >> 11U) * 0x1.0p-53;
}

double Rng::Normal() {
  while (true) {
    const double u = 2 * Uniform() - 1;
    const double v = 2 * Uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * std::log(s) / s);
  }
}

}  // namespace msc
