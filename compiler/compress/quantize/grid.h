#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace msc {

// Weights as integers times a scale: what a WeightGrid of the strategy says, row by row. A row is
// all weights of one output channel.

/// 2^(bits-1) - 1: integers are within plus and minus this, so that -w is there where w is.
[[nodiscard]] constexpr int LargestLevel(int bits) {
  return (1 << (bits - 1)) - 1;
}

/// The scale at which `largest` >= 0 is the largest level; 1 for 0, never subnormal.
[[nodiscard]] float ScaleFor(float largest, int bits);

/// ScaleFor the largest magnitude of the row.
[[nodiscard]] float MaxScale(std::span<const float> row, int bits);

/// The scale with the least sum of importance[i] * (w[i] - quantized w[i])^2, among those that keep
/// from a fifth to all of the largest magnitude. `importance` is one a weight, >= 0, or empty
/// for 1.
[[nodiscard]] float BestScale(std::span<const float> row, int bits,
                              std::span<const double> importance = {});

/// The steps of a row: a weight becomes level * scale, the level between `least` <= 0 and `most`
/// >= 0. With b bits and a zero point z the integer is level + z, and least is -2^(b-1) - z.
struct WeightStep {
  float scale = 1.0F;
  int least = 0;
  int most = 0;
  bool operator==(const WeightStep&) const = default;
};
/// No zero point: as many levels on both sides of 0.
[[nodiscard]] WeightStep SymmetricStep(float scale, int bits);
/// All of 2^bits levels, from the least weight (or 0) to the largest (or 0).
[[nodiscard]] WeightStep AffineStep(std::span<const float> row, int bits);
/// The same for that part of the range, a fifth to all of it, that loses least, as BestScale.
[[nodiscard]] WeightStep BestAffineStep(std::span<const float> row, int bits,
                                        std::span<const double> importance = {});
/// The integer that stands for 0.
[[nodiscard]] std::int64_t ZeroPointOf(const WeightStep& step, int bits);

/// How weights become integers.
enum class WeightRounding : std::uint8_t {
  kNearest,  ///< each by itself
  kGptq,     ///< one input after the other, the rest making up for the error so far
  kDescent,  ///< as kGptq, then single weights are moved by a level while that helps
};

/// Rounds the rows [outputs, inputs] of a linear layer to `steps` (one a row, or one for each of
/// `groups` equal stretches of it, row by row), keeping sum (w x - w' x)^2 over the
/// samples small. `gram` is the matrix of the inputs' second moments, [inputs, inputs], symmetric;
/// not read for kNearest. Returns level * scale, as floats. kGptq is optimal brain quantization in
/// a fixed order, by the Cholesky factor of the inverse of `gram`, inputs of large moments first,
/// the diagonal damped by a hundredth of its mean. kDescent goes on by coordinate descent on the
/// exact quadratic until no step of one level lowers it, which is the choice that AdaRound relaxes,
/// over more than the two nearest levels. Neither gives a larger sum than kNearest. Source: Frantar
/// et al. 2022 (arXiv 2210.17323) section 3.3; Nagel et al. 2020 (arXiv 2004.10568) equation 13.
[[nodiscard]] std::vector<float> RoundRows(std::span<const float> rows,
                                           std::span<const WeightStep> steps,
                                           std::span<const double> gram, WeightRounding rounding,
                                           std::int64_t groups = 1);

/// Rows of inputs and of weights, both [.., inputs].
struct Product {
  std::span<const float> x;
  std::span<const float> w;
  std::int64_t inputs = 0;
};
/// Share of |x w^T|^2 that is missed if x is rounded to `steps` steps up to `range` (> 0) on both
/// sides of 0, and every row of w to `bits` by its largest magnitude. 0 where the product is 0.
[[nodiscard]] double ProductError(const Product& product, float range, int steps, int bits);

}  // namespace msc
