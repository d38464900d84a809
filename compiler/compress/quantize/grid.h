#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace msc {

// Weights as integers times a scale, as WeightGrid of a strategy defines them, row by row. A row
// contains all weights of one output channel.

/// Returns 2^(bits-1) - 1. Integers lie within plus and minus this, so that -w is representable if
/// w is.
[[nodiscard]] constexpr int LargestLevel(int bits) {
  return (1 << (bits - 1)) - 1;
}

/// Returns the scale at which `largest` >= 0 becomes the largest level; 1 for 0. Never subnormal.
[[nodiscard]] float ScaleFor(float largest, int bits);

/// Returns ScaleFor of the largest magnitude in the row.
[[nodiscard]] float MaxScale(std::span<const float> row, int bits);

/// Returns the scale with the least sum of importance[i] * (w[i] - quantized w[i])^2, among scales
/// that keep from a fifth to all of the largest magnitude. `importance` has one value >= 0 for each
/// weight; empty means 1 for all.
[[nodiscard]] float BestScale(std::span<const float> row, int bits,
                              std::span<const double> importance = {});

/// The grid of a row: a weight becomes level * scale, with the level in [least, most], least <= 0
/// <= most. With b bits and a zero point z the stored integer is level + z, and least is -2^(b-1) -
/// z.
struct WeightStep {
  float scale = 1.0F;
  int least = 0;
  int most = 0;
  bool operator==(const WeightStep&) const = default;
};
/// Returns a grid without zero point: equally many levels on both sides of 0.
[[nodiscard]] WeightStep SymmetricStep(float scale, int bits);
/// Returns a grid with all 2^bits levels, from the least weight (or 0) to the largest (or 0).
[[nodiscard]] WeightStep AffineStep(std::span<const float> row, int bits);
/// Works as AffineStep on the fraction of the range, a fifth to all of it, that has the least
/// error; see BestScale.
[[nodiscard]] WeightStep BestAffineStep(std::span<const float> row, int bits,
                                        std::span<const double> importance = {});
/// Returns the integer that stands for 0.
[[nodiscard]] std::int64_t ZeroPointOf(const WeightStep& step, int bits);

/// How weights become integers.
enum class WeightRounding : std::uint8_t {
  kNearest,  ///< each weight by itself
  kGptq,     ///< input after input; the remaining ones compensate for the error
  kDescent,  ///< as kGptq, then single weights move by a level while that helps
};

/// Rounds the rows w [outputs, inputs] of a linear layer to rows w' on the grids `steps`, such that
/// the sum of (w x - w' x)^2 over the samples x is small. `steps` has one grid per row, or one for
/// each of `groups` equal stretches of a row, row by row. `gram` is the matrix of the inputs'
/// second moments, [inputs, inputs], symmetric; kNearest does not read it. Returns w' as floats,
/// level * scale, the same for any number of threads. Neither kGptq nor kDescent gives a larger sum
/// than kNearest.
///
/// kGptq is optimal brain quantization in a fixed order, by the Cholesky factor of the inverse of
/// `gram`; inputs with large moments come first, and a hundredth of the mean diagonal is added to
/// the diagonal. kDescent continues by coordinate descent on the exact quadratic until no step of
/// one level lowers it. AdaRound relaxes the same choice, but only over the two nearest levels.
/// Source: Frantar et al. 2022 (arXiv 2210.17323) section 3.3; Nagel et al. 2020 (arXiv 2004.10568)
/// equation 13.
[[nodiscard]] std::vector<float> RoundRows(std::span<const float> rows,
                                           std::span<const WeightStep> steps,
                                           std::span<const double> gram, WeightRounding rounding,
                                           std::int64_t groups = 1, int threads = 1);

/// Rows of inputs and rows of weights, both [.., inputs].
struct Product {
  std::span<const float> x;
  std::span<const float> w;
  std::int64_t inputs = 0;
};
/// Returns the relative error |x w^T - x' w'^T|^2 / |x w^T|^2, where x' is x rounded to `steps`
/// steps of up to `range` (> 0) on both sides of 0, and w' is w with each row rounded to `bits` by
/// its largest magnitude. 0 if the product is 0.
[[nodiscard]] double ProductError(const Product& product, float range, int steps, int bits);

}  // namespace msc
