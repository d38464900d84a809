#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
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

// Neighbours are often alike: counted in the same table, each would wait for the one before.
constexpr std::size_t kTables = 4;

/// Counts finite values in tables of `bins` bins, one behind the other. `per_width` is the power of
/// two that gives a magnitude in widths of a bin, so products are exact.
template <class T>
void Count(std::span<const float> values, T per_width, std::size_t bins,
           std::span<std::uint32_t> tables) {
  // Bins are computed some at a time, by a loop without memory accesses that depend on values,
  // which compilers turn into vector instructions.
  constexpr std::size_t kBlock = 1024;
  std::array<std::int32_t, kBlock> places;  // NOLINT(*-member-init): written before it is read
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const std::span<const float> block =
        values.subspan(first, std::min(kBlock, values.size() - first));
    for (std::size_t i = 0; i < block.size(); ++i) {
      // An upper edge belongs to the bin below it: bins are open on the left.
      const T place = std::abs(static_cast<T>(block[i])) * per_width;
      const auto floor = static_cast<std::int32_t>(place);
      places[i] = floor - ((static_cast<T>(floor) == place && floor > 0) ? 1 : 0);
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      ++tables[(i % kTables) * bins + static_cast<std::size_t>(places[i])];
    }
  }
}

/// What values span. Extents are found for some values at a time, by a loop over 32-bit integers,
/// which compilers turn into vector instructions.
struct Extent {
  /// The bits of floats as integers in the order of the values, see KeyOf.
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  std::int32_t largest = 0;  ///< the magnitude's bits; not less than kInfinity: not all are finite
  std::uint64_t zeros = 0;
};

/// Returns an integer that orders floats; it is its own inverse.
std::int32_t KeyOf(std::int32_t bits) {
  constexpr std::int32_t kMagnitude = 0x7fffffff;
  return bits ^ ((bits >> 31) & kMagnitude);
}

float FloatOf(std::int32_t key) {
  return std::bit_cast<float>(KeyOf(key)) + 0.0F;  // no negative zero
}

Extent ExtentOf(std::span<const float> values) {
  constexpr std::size_t kBlock = 4096;
  Extent extent;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    std::int32_t zeros = 0;
    for (const float value : values.subspan(first, std::min(kBlock, values.size() - first))) {
      const auto bits = std::bit_cast<std::int32_t>(value);
      const std::int32_t magnitude = bits & 0x7fffffff;
      extent.least = std::min(extent.least, KeyOf(bits));
      extent.most = std::max(extent.most, KeyOf(bits));
      extent.largest = std::max(extent.largest, magnitude);
      zeros += magnitude == 0 ? 1 : 0;
    }
    extent.zeros += static_cast<std::uint64_t>(zeros);
  }
  return extent;
}

std::vector<float> FiniteOf(std::span<const float> values) {
  std::vector<float> finite;
  for (const float value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return finite;
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
  constexpr std::int32_t kInfinity = 0x7f800000;
  const Extent extent = ExtentOf(values);
  if (extent.largest >= kInfinity) {
    const std::vector<float> finite = FiniteOf(values);
    not_finite_ += values.size() - finite.size();
    Add(finite);
    return;
  }
  if (values.empty()) return;
  Grow(std::bit_cast<float>(extent.largest));
  min_ = count_ == 0 ? FloatOf(extent.least) : std::min(min_, FloatOf(extent.least));
  max_ = count_ == 0 ? FloatOf(extent.most) : std::max(max_, FloatOf(extent.most));
  zeros_ += extent.zeros;
  count_ += values.size();

  const double per_width = limit_ > 0 ? static_cast<double>(bins_.size()) / limit_ : 0.0;
  const bool is_float = per_width < std::numeric_limits<float>::max();
  std::vector<std::uint32_t> tables(kTables * bins_.size());
  constexpr std::size_t kMost = std::size_t{1} << 31U;  // what a table can count
  for (std::size_t first = 0; first < values.size(); first += kMost) {
    const auto part = values.subspan(first, std::min(kMost, values.size() - first));
    std::ranges::fill(tables, 0);
    if (is_float) {
      Count(part, static_cast<float>(per_width), bins_.size(), tables);
    } else {
      Count(part, per_width, bins_.size(), tables);
    }
    for (std::size_t i = 0; i < tables.size(); ++i) bins_[i % bins_.size()] += tables[i];
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
