#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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
  // Magnitudes of floats are ordered as their bits are, those that are not finite come last.
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  const auto magnitude_bits = [](float value) {
    return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
  };
  std::uint32_t largest = 0;
  for (const float value : values) {
    const std::uint32_t bits = magnitude_bits(value);
    largest = std::max(largest, bits < kInfinity ? bits : 0U);
  }
  Grow(std::bit_cast<float>(largest));
  // Both are powers of two, so the product below is exact, and the right bin is chosen.
  const double per_width = limit_ > 0 ? static_cast<double>(bins_.size()) / limit_ : 0.0;
  float least = count_ == 0 ? std::numeric_limits<float>::infinity() : min_;
  float most = count_ == 0 ? -std::numeric_limits<float>::infinity() : max_;
  std::uint64_t zeros = 0;
  std::uint64_t not_finite = 0;
  // Neighbours are often alike: counted in the same table, each would wait for the one before.
  std::vector<std::uint64_t> odd(bins_.size(), 0);
  std::uint64_t* here = bins_.data();
  std::uint64_t* other = odd.data();
  for (const float value : values) {
    if (magnitude_bits(value) >= kInfinity) {
      ++not_finite;
      continue;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    zeros += value == 0.0F ? 1 : 0;
    // An upper edge belongs to the bin below it: bins are open on the left.
    const double place = std::abs(static_cast<double>(value)) * per_width;
    const auto floor = static_cast<std::int64_t>(place);
    const bool is_edge = static_cast<double>(floor) == place && floor > 0;
    ++here[floor - (is_edge ? 1 : 0)];
    std::swap(here, other);
  }
  for (std::size_t i = 0; i < odd.size(); ++i) bins_[i] += odd[i];
  const std::uint64_t finite = values.size() - not_finite;
  if (finite > 0) {
    min_ = least;
    max_ = most;
  }
  count_ += finite;
  zeros_ += zeros;
  not_finite_ += not_finite;
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
