#include "gym/report/expected_ranges.h"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(RangesFromEarlier, AreTheEstimateTimesEarlierRatiosWithoutATenthAtEitherEnd) {
  std::vector<EstimatedResult> results;
  for (int i = 1; i <= 9; ++i) results.push_back({2, 2.0 * i});
  results.push_back({10, 1});
  for (int i = 0; i < 9; ++i) results.push_back({1, 5});
  results.push_back({1, 7});
  const auto ranges = RangesFromEarlier(results);
  ASSERT_EQ(ranges.size(), results.size());
  for (std::size_t i = 0; i < 9; ++i) EXPECT_FALSE(ranges[i]) << i;
  ASSERT_TRUE(ranges[9]);
  EXPECT_EQ(ranges[9]->low, 10);
  EXPECT_EQ(ranges[9]->high, 90);
  // Of 19 ratios, the least and the largest are left out: 0.1, 1 to 9 and nine of 5.
  ASSERT_TRUE(ranges[19]);
  EXPECT_EQ(ranges[19]->low, 1);
  EXPECT_EQ(ranges[19]->high, 8);
}

TEST(RangesFromEarlier, SkipWhatHasNoRatio) {
  std::vector<EstimatedResult> results(30, {0, 1});
  results.insert(results.end(), 9, {1, -1});
  results.insert(results.end(), 9, {1, 1});
  results.push_back({1, 0});
  results.push_back({1, 3});
  const auto ranges = RangesFromEarlier(results);
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i) EXPECT_FALSE(ranges[i]) << i;
  ASSERT_TRUE(ranges.back());
  EXPECT_EQ(ranges.back()->high, 1);
  EXPECT_TRUE(RangesFromEarlier({}).empty());
}

TEST(RangesFromEarlier, HoldTheirShareOfResults) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> error(0.3, 0.5);
  std::uniform_real_distribution<double> value(1, 100);
  std::size_t inside = 0;
  std::size_t all = 0;
  for (int search = 0; search < 300; ++search) {
    std::vector<EstimatedResult> results;
    for (int i = 0; i < 40; ++i) {
      const double estimated = value(random);
      results.push_back({estimated, estimated * error(random)});
    }
    const auto ranges = RangesFromEarlier(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!ranges[i]) continue;
      ++all;
      inside += ranges[i]->low <= results[i].measured && results[i].measured <= ranges[i]->high;
    }
  }
  const double share = static_cast<double>(inside) / static_cast<double>(all);
  // Fewer are left out than a tenth where a tenth of the gaps is no whole number.
  EXPECT_GE(share, kRangeCoverage);
  EXPECT_LE(share, kRangeCoverage + 0.06);
}

}  // namespace
}  // namespace msc::gym
