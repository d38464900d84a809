#include "gym/core/pareto.h"

#include <gtest/gtest.h>

#include "compiler/base/rng.h"

namespace msc::gym {
namespace {

TEST(Dominates, NeedsOneSmallerAndNoneLarger) {
  const std::vector<double> a{1, 2};
  EXPECT_TRUE(Dominates(a, std::vector<double>{1, 3}));
  EXPECT_FALSE(Dominates(a, a));
  EXPECT_FALSE(Dominates(a, std::vector<double>{0, 3}));
}

std::vector<std::vector<double>> RandomPoints(std::uint64_t seed, std::size_t count,
                                              std::size_t objectives) {
  Rng rng(seed);
  std::vector<std::vector<double>> points(count, std::vector<double>(objectives));
  // Few different values, so that ties and equal points are common.
  for (auto& point : points) {
    for (auto& value : point) value = static_cast<double>(rng.Below(6));
  }
  return points;
}

TEST(Dominates, IsAStrictPartialOrder) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto points = RandomPoints(seed, 25, 3);
    for (const auto& a : points) {
      EXPECT_FALSE(Dominates(a, a));
      for (const auto& b : points) {
        EXPECT_FALSE(Dominates(a, b) && Dominates(b, a));
        for (const auto& c : points) {
          EXPECT_TRUE(!(Dominates(a, b) && Dominates(b, c)) || Dominates(a, c));
        }
      }
    }
  }
}

TEST(ParetoFront, IsWhatComparingAllPairsGives) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto points = RandomPoints(seed, seed % 40, 1 + seed % 4);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < points.size(); ++j) {
        beaten = beaten || Dominates(points[j], points[i]) || (j < i && points[j] == points[i]);
      }
      if (!beaten) expected.push_back(i);
    }
    EXPECT_EQ(ParetoFront(points), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace msc::gym
