#include "gym/core/pareto.h"

#include <algorithm>
#include <functional>

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

/// Number of unit cells of [0, 8)^k that some point lies below: the volume, as points are whole.
double CountCells(const std::vector<std::vector<double>>& points, std::size_t objectives) {
  double count = 0;
  for (std::size_t n = 0; n < std::size_t{1} << (3 * objectives); ++n) {
    std::size_t rest = n;
    std::vector<double> cell;
    for (std::size_t k = 0; k < objectives; ++k, rest /= 8) {
      cell.push_back(static_cast<double>(rest % 8));
    }
    for (const auto& point : points) {
      if (!std::equal(point.begin(), point.end(), cell.begin(), std::less_equal<>{})) continue;
      ++count;
      break;
    }
  }
  return count;
}

TEST(Hypervolume, IsTheNumberOfCellsThatPointsDominate) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const std::size_t objectives = 1 + seed % 4;
    const auto points = RandomPoints(seed, seed % 12, objectives);
    const std::vector<double> reference(objectives, 8);
    EXPECT_DOUBLE_EQ(Hypervolume(points, reference), CountCells(points, objectives)) << seed;
  }
}

TEST(HypervolumeContributions, AreWhatIsLostWithoutAPoint) {
  // The second is dominated, the last two are equal.
  const std::vector<std::vector<double>> points = {{0, 2}, {1, 3}, {2, 1}, {3, 0}, {3, 0}};
  EXPECT_EQ(HypervolumeContributions(points, std::vector<double>{4, 4}),
            (std::vector<double>{3, 0, 1, 0, 0}));
}

TEST(Hypervolume, LeavesOutWhatIsNotBelowTheReference) {
  const std::vector<std::vector<double>> points = {{1, 5}, {2, 2}, {4, 1}};
  EXPECT_DOUBLE_EQ(Hypervolume(points, std::vector<double>{4, 4}), 4.0);
}

}  // namespace
}  // namespace msc::gym
