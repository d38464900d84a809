#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/quantize.h"

namespace msc {
namespace {

/// Returns the counts of values other than 0, up to the last bin that is not empty.
std::vector<double> NonZeroCounts(const StreamingHistogram& histogram) {
  const auto counts = histogram.counts();
  std::size_t used = counts.size();
  while (used > 1 && counts[used - 1] == 0) --used;
  // Zeros would otherwise be most of the first bin, often after Relu, and no range misrepresents
  // them.
  std::vector<double> values(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(used));
  values[0] -= static_cast<double>(histogram.zeros());
  return values;
}

/// Returns the sum of P log(P / Q). P are the first `kept` bins, with everything above added to the
/// last of them. Q are these bins merged to `levels`, and spread evenly over those that are not
/// empty.
double Divergence(const std::vector<double>& counts, std::size_t kept, std::size_t levels) {
  double inside = 0;
  double all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    if (i < kept) inside += counts[i];
  }
  if (inside == 0) return std::numeric_limits<double>::infinity();
  // If Q gives no weight to an observed value, use this weight instead of an infinite divergence.
  constexpr double kLeast = 1e-9;
  double sum = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    // Levels get bins in proportion, so their numbers differ by at most one if `kept` is no
    // multiple of `levels`.
    const std::size_t first = level * kept / levels;
    const std::size_t end = (level + 1) * kept / levels;
    double total = 0;
    std::size_t held = 0;
    for (std::size_t i = first; i < end; ++i) {
      total += counts[i];
      held += counts[i] > 0 ? 1U : 0U;
    }
    // Q is spread over bins with values only, as in TensorRT: an empty bin in P adds nothing to the
    // sum.
    const double even = held == 0 ? 0 : total / static_cast<double>(held) / inside;
    for (std::size_t i = first; i < end; ++i) {
      // Values beyond the range are clipped to its end: they belong to the last bin of P, but not
      // of Q, so clipping raises the divergence.
      const double p = (counts[i] + (i + 1 == kept ? all - inside : 0.0)) / all;
      if (p > 0) sum += p * std::log(p / std::max(counts[i] > 0 ? even : 0.0, kLeast));
    }
  }
  return sum;
}

double EntropyRange(const StreamingHistogram& histogram, double largest, int steps) {
  const std::vector<double> counts = NonZeroCounts(histogram);
  const auto levels = static_cast<std::size_t>(steps) + 1;
  // Try at most 256 ranges.
  const std::size_t stride = std::max<std::size_t>(1, histogram.bins() / 256);
  double best = largest;
  // The whole range is the first candidate, so a smaller one must be better.
  double least = Divergence(counts, counts.size(), std::min(levels, counts.size()));
  for (std::size_t kept = levels; kept < counts.size(); kept += stride) {
    const double found = Divergence(counts, kept, levels);
    if (found < least) {
      least = found;
      best = static_cast<double>(kept) * histogram.bin_width();
    }
  }
  return best;
}

/// Returns the integral of (t - round(t))^2 from 0 to x, with levels up to `steps`; a whole step
/// adds 1/12.
double ErrorUpTo(double x, double steps) {
  const double level = std::min(std::nearbyint(x), steps);
  if (level == 0) return x * x * x / 3;
  const double rest = x - level;
  return level / 12 + rest * rest * rest / 3;
}

double SquareErrorRange(const StreamingHistogram& histogram, double largest, int steps) {
  const std::vector<double> counts = NonZeroCounts(histogram);
  constexpr int kCandidates = 256;
  double best = largest;
  double least = std::numeric_limits<double>::infinity();
  // From the whole range downwards: among equal errors the range that clips least stays.
  for (int candidate = kCandidates; candidate > 0; --candidate) {
    const double range = largest * candidate / kCandidates;
    const double step = range / steps;
    // Values are taken as spread evenly over their bin. The unit is step^2 * step / width.
    const double width = histogram.bin_width() / step;
    double sum = 0;
    double below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double above = ErrorUpTo(static_cast<double>(i + 1) * width, steps);
      sum += counts[i] * (above - below);
      below = above;
    }
    sum *= step * step / width;
    if (sum < least) {
      least = sum;
      best = range;
    }
  }
  return best;
}

}  // namespace

float ChooseRange(const StreamingHistogram& histogram, const CalibrationOptions& options,
                  int steps) {
  Check(histogram.count() > 0 && steps > 0, "a range is chosen for values and steps");
  const float largest = std::max(std::abs(histogram.min()), std::abs(histogram.max()));
  if (largest == 0.0F) return 0.0F;
  double kept = largest;
  if (options.method == "percentile") kept = histogram.Percentile(options.percentile / 100.0);
  if (options.method == "entropy") kept = EntropyRange(histogram, largest, steps);
  if (options.method == "mse") kept = SquareErrorRange(histogram, largest, steps);
  // Narrowing to float may round down to 0, but the range of values other than 0 is positive.
  return std::clamp(static_cast<float>(kept), std::numeric_limits<float>::denorm_min(), largest);
}

}  // namespace msc
