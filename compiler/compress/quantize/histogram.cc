#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/quantize.h"

namespace msc {
namespace {

// Returns the smallest power of two >= `magnitude`, which is > 0.
double CeilPowerOfTwo(double magnitude) {
  int exponent = 0;
  // frexp returns 0.5 exactly if and only if the magnitude is a power of two, which is its own
  // ceiling.
  const double fraction = std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

// Returns the smallest float >= `value`; the largest float if there is none.
float CeilFloat(double value) {
  // Rounding up keeps the promise that at least the wanted share of values is within the range.
  if (value >= std::numeric_limits<float>::max()) return std::numeric_limits<float>::max();
  const auto near = static_cast<float>(value);
  if (static_cast<double>(near) >= value) return near;
  return std::nextafter(near, std::numeric_limits<float>::infinity());
}

}  // namespace

StreamingHistogram::StreamingHistogram(std::size_t bins) : bins_(bins, 0) {
  Check(bins >= 2 && (bins & (bins - 1)) == 0, "the number of bins is a power of two");
}

double StreamingHistogram::bin_width() const noexcept {
  return limit_ / static_cast<double>(bins_.size());
}

void StreamingHistogram::Grow(double magnitude) {
  if (magnitude <= limit_) return;
  // As long as the limit is 0 there are only zeros, and these stay in bin 0.
  if (limit_ == 0.0) limit_ = CeilPowerOfTwo(magnitude);
  const std::size_t half = bins_.size() / 2;
  while (limit_ < magnitude) {
    // Bins merge in pairs exactly, as doubling the limit doubles the width of each bin and keeps
    // every second edge.
    for (std::size_t i = 0; i < half; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + static_cast<std::ptrdiff_t>(half), bins_.end(), 0);
    limit_ *= 2.0;
  }
}

void StreamingHistogram::Add(std::span<const float> values) {
  float largest = 0.0F;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  Grow(largest);
  // Both are powers of two, so the product below is exact, and the right bin is chosen.
  const double per_width = limit_ > 0 ? static_cast<double>(bins_.size()) / limit_ : 0.0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++not_finite_;
      continue;
    }
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
    zeros_ += value == 0.0F ? 1 : 0;
    // ceil - 1 puts an upper edge into the bin below it: bins are open on the left.
    const double place = std::ceil(std::abs(static_cast<double>(value)) * per_width);
    ++bins_[place < 1 ? 0 : static_cast<std::size_t>(place) - 1];
  }
}

float StreamingHistogram::Percentile(double fraction) const {
  Check(count_ > 0, "a percentile is asked of values");
  Check(fraction > 0 && fraction <= 1, "a percentile is a fraction in (0, 1]");
  if (limit_ == 0.0) return 0.0F;
  const auto wanted = static_cast<std::uint64_t>(std::clamp(
      std::ceil(fraction * static_cast<double>(count_)), 1.0, static_cast<double>(count_)));
  // Values of a bin are known only to be below its upper edge, so that is the range returned.
  std::uint64_t seen = 0;
  std::size_t bin = 0;
  while (bin + 1 < bins_.size() && seen + bins_[bin] < wanted) seen += bins_[bin++];
  return CeilFloat(static_cast<double>(bin + 1) * bin_width());
}

void StreamingHistogram::Merge(const StreamingHistogram& other) {
  Check(bins_.size() == other.bins_.size(), "merged histograms have equally many bins");
  StreamingHistogram grown = other;
  Grow(grown.limit_);
  grown.Grow(limit_);
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += grown.bins_[i];
  zeros_ += other.zeros_;
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
}

}  // namespace msc
