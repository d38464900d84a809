#include "agents/sobol/sobol_sequence.h"

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::agents {

namespace {

constexpr std::uint32_t kBits = 32;

std::uint32_t Degree(std::uint64_t polynomial) {
  std::uint32_t degree = 0;
  while (polynomial >> (degree + 1U) != 0) ++degree;
  return degree;
}

/// Returns whether the polynomial is primitive: the powers of x modulo it first return to 1 after
/// 2^degree - 1 steps.
bool IsPrimitive(std::uint64_t polynomial) {
  const std::uint32_t degree = Degree(polynomial);
  const std::uint64_t order = (std::uint64_t{1} << degree) - 1;
  std::uint64_t power = 1;
  for (std::uint64_t step = 1; step <= order; ++step) {
    power <<= 1U;
    if ((power >> degree & 1U) != 0) power ^= polynomial;
    if (power == 1) return step == order;
  }
  return false;
}

std::vector<std::uint32_t> Directions(std::uint64_t polynomial, Rng& rng) {
  const std::uint32_t degree = Degree(polynomial);
  std::vector<std::uint32_t> directions;
  for (std::uint32_t i = 0; i < kBits; ++i) {
    if (i < degree) {
      // Odd numbers make the matrix of direction numbers triangular with ones on its diagonal;
      // hence it is invertible, and each interval [i / 2^k, (i + 1) / 2^k) gets one of 2^k points.
      // A free direction number: any odd number below 2^(i+1).
      const std::uint64_t odd = 2 * rng.Below(std::uint64_t{1} << i) + 1;
      directions.push_back(static_cast<std::uint32_t>(odd << (kBits - 1 - i)));
      continue;
    }
    // This is the recurrence of Bratley and Fox, 1988, with the coefficients a of the polynomial of
    // degree d: v_i = a_1 v_(i-1) ^ ... ^ a_(d-1) v_(i-d+1) ^ v_(i-d) ^ (v_(i-d) >> d).
    std::uint32_t next = directions[i - degree] ^ (directions[i - degree] >> degree);
    for (std::uint32_t k = 1; k < degree; ++k) {
      if ((polynomial >> (degree - k) & 1U) != 0) next ^= directions[i - k];
    }
    directions.push_back(next);
  }
  return directions;
}

}  // namespace

SobolSequence::SobolSequence(std::size_t dimensions) {
  Check(dimensions >= 1, "a sequence has a dimension");
  // The first dimension reverses the bits of n (van der Corput).
  std::vector<std::uint32_t>& first = directions_.emplace_back();
  for (std::uint32_t i = 0; i < kBits; ++i) first.push_back(std::uint32_t{1} << (kBits - 1 - i));
  // A fixed seed: all sequences share their direction numbers.
  Rng rng(659);
  // Primitive polynomials have a constant term, so they are odd numbers.
  for (std::uint64_t polynomial = 3; directions_.size() < dimensions; polynomial += 2) {
    if (IsPrimitive(polynomial)) directions_.push_back(Directions(polynomial, rng));
  }
}

std::uint32_t SobolSequence::Coordinate(std::uint64_t n, std::size_t dimension) const {
  // The bits of `n` itself select directions, not those of its Gray code: the order within a block
  // of 2^k points differs, but any point can be computed alone.
  std::uint32_t value = 0;
  for (const std::uint32_t direction : directions_[dimension]) {
    if ((n & 1U) != 0) value ^= direction;
    n >>= 1U;
  }
  return value;
}

}  // namespace msc::agents
