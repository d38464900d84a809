#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/compress/quantize/quantize.h"

namespace msc {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Several kinds of values, from the smallest to the largest floats.
struct Stream {
  std::string label;
  double scale = 1.0;
  double zeros = 0.0;  ///< share of exact zeros
  bool heavy_tail = false;
};

void PrintTo(const Stream& stream, std::ostream* out) {
  *out << stream.label;
}

std::vector<float> Draw(const Stream& stream, std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    double x = rng.Normal();
    if (stream.heavy_tail) x = std::pow(std::abs(x), 9) * (x < 0 ? -1 : 1);
    value = rng.Uniform() < stream.zeros ? 0.0F : static_cast<float>(stream.scale * x);
    if (!std::isfinite(value)) value = std::numeric_limits<float>::max();
  }
  return values;
}

/// The smallest t among the magnitudes with at least `fraction` of them <= t.
float ExactPercentile(std::vector<float> values, double fraction) {
  for (float& value : values) value = std::abs(value);
  std::sort(values.begin(), values.end());
  const auto wanted =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(wanted, 1) - 1];
}

class Histogram : public ::testing::TestWithParam<Stream> {};

TEST_P(Histogram, IsWithinOneBinOfThePercentileBySorting) {
  for (const std::size_t count : {1U, 2U, 17U, 3000U}) {
    const std::vector<float> values = Draw(GetParam(), count, count);
    StreamingHistogram histogram(256);
    for (std::size_t i = 0; i < values.size(); i += 7) {
      histogram.Add(std::span(values).subspan(i, std::min<std::size_t>(7, values.size() - i)));
    }
    for (const double fraction : {1e-9, 0.01, 0.25, 0.5, 0.9, 0.999, 1.0}) {
      const double exact = ExactPercentile(values, fraction);
      const double got = histogram.Percentile(fraction);
      EXPECT_GE(got, exact) << count << " values, " << fraction;
      // One bin, and one rounding up to a float where bins are finer than floats.
      const double slack = std::numeric_limits<float>::denorm_min() + exact * 1e-6;
      EXPECT_LE(got, exact + histogram.bin_width() + slack) << count << " values, " << fraction;
    }
  }
}

TEST_P(Histogram, GivesTheSameWhateverTheOrderAndGrouping) {
  const std::vector<float> values = Draw(GetParam(), 5, 2000);
  StreamingHistogram all;
  all.Add(values);
  StreamingHistogram backwards;
  for (std::size_t i = values.size(); i > 0; --i)
    backwards.Add(std::span(values).subspan(i - 1, 1));
  StreamingHistogram merged;
  for (std::size_t part = 0; part < 10; ++part) {
    StreamingHistogram one;
    one.Add(std::span(values).subspan(part * 200, 200));
    merged.Merge(one);
  }
  for (const StreamingHistogram* other : {&backwards, &merged}) {
    EXPECT_EQ(other->count(), all.count());
    EXPECT_EQ(other->min(), all.min());
    EXPECT_EQ(other->max(), all.max());
    EXPECT_EQ(other->bin_width(), all.bin_width());
    for (double fraction = 0.001; fraction <= 1; fraction += 0.001) {
      ASSERT_EQ(other->Percentile(fraction), all.Percentile(fraction)) << fraction;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, Histogram,
                         ::testing::Values(Stream{"normal"}, Stream{"tiny", 1e-30},
                                           Stream{"subnormal", 1e-42}, Stream{"huge", 1e37},
                                           Stream{"sparse", 3.0, 0.95},
                                           Stream{"heavy tail", 1e-3, 0.1, true}));

TEST(HistogramEdges, KeepsItsSizeHoweverMuchComes) {
  StreamingHistogram histogram(64);
  std::vector<float> values(1000);
  float magnitude = 1e-38F;
  for (int batch = 0; batch < 70; ++batch, magnitude *= 10) {
    std::fill(values.begin(), values.end(), magnitude);
    histogram.Add(values);
    ASSERT_EQ(histogram.bins(), 64U);
  }
  EXPECT_EQ(histogram.count(), 70000U);
}

TEST(HistogramEdges, CountsAMagnitudeOnABinEdgeBelowIt) {
  StreamingHistogram histogram(4);
  histogram.Add(std::vector<float>{4.0F, 1.0F, -2.0F, 3.0F});
  EXPECT_EQ(histogram.bin_width(), 1.0);
  EXPECT_EQ(histogram.Percentile(0.25), 1.0F);
  EXPECT_EQ(histogram.Percentile(0.5), 2.0F);
  EXPECT_EQ(histogram.Percentile(0.75), 3.0F);
  EXPECT_EQ(histogram.Percentile(1.0), 4.0F);
}

TEST(HistogramEdges, GrowsByDoublingFromAPowerOfTwo) {
  StreamingHistogram histogram(4);
  histogram.Add(std::vector<float>{3.0F});
  EXPECT_EQ(histogram.bin_width(), 1.0);
  histogram.Add(std::vector<float>{-17.0F});
  EXPECT_EQ(histogram.bin_width(), 8.0);
  EXPECT_EQ(histogram.Percentile(0.5), 8.0F);
  EXPECT_EQ(histogram.Percentile(1.0), 24.0F);
}

TEST(HistogramEdges, GivesZeroWhereAllValuesAreZero) {
  StreamingHistogram histogram;
  histogram.Add(std::vector<float>{0.0F, -0.0F, 0.0F});
  EXPECT_EQ(histogram.Percentile(0.99), 0.0F);
  EXPECT_EQ(histogram.min(), 0.0F);
  EXPECT_EQ(histogram.max(), 0.0F);
  EXPECT_EQ(histogram.count(), 3U);
}

TEST(HistogramEdges, CountsWhatIsNotFiniteApart) {
  StreamingHistogram histogram;
  histogram.Add(std::vector<float>{1.0F, kInfinity, -kInfinity, std::nanf(""), -2.0F});
  EXPECT_EQ(histogram.not_finite(), 3U);
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.min(), -2.0F);
  EXPECT_EQ(histogram.max(), 1.0F);
  StreamingHistogram other;
  other.Add(std::vector<float>{kInfinity});
  histogram.Merge(other);
  EXPECT_EQ(histogram.not_finite(), 4U);
  EXPECT_EQ(histogram.min(), -2.0F);
}

TEST(HistogramEdges, HoldsTheLargestFloat) {
  StreamingHistogram histogram;
  histogram.Add(std::vector<float>{std::numeric_limits<float>::max()});
  EXPECT_EQ(histogram.Percentile(1.0), std::numeric_limits<float>::max());
}

TEST(WeightScales, AreTheLargestMagnitudeOfAChannelBy127) {
  const Tensor weights =
      Tensor::From<float>(DType::kF32, {2, 3}, std::vector<float>{1, -127, 3, 0, 254, -2});
  EXPECT_EQ(WeightScales(weights, 0), (std::vector<float>{1.0F, 2.0F}));
  EXPECT_EQ(WeightScales(weights, 1), (std::vector<float>{1.0F / 127, 2.0F, 3.0F / 127}));
}

TEST(WeightScales, AreOneForZerosAndNeverSubnormal) {
  const Tensor weights =
      Tensor::From<float>(DType::kF32, {3, 1}, std::vector<float>{0, -0.0F, 1e-40F});
  EXPECT_EQ(WeightScales(weights, 0),
            (std::vector<float>{1.0F, 1.0F, std::numeric_limits<float>::min()}));
}

}  // namespace
}  // namespace msc
