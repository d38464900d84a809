#include "gym/study/objective.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::gym {
namespace {

template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Violation, IsTheSumOfRelativeExcesses) {
  const Objective objective{{"time"}, {{"drop", 0.5}, {"bytes", 100}, {"time", 10}}};
  const Evaluation evaluation{{{"drop", 0.75}, {"bytes", 150}, {"time", 9}}, {}, ""};
  EXPECT_DOUBLE_EQ(Violation(objective, evaluation), 0.5 + 0.5);
}

TEST(Violation, IsZeroAtTheLimitItself) {
  const Objective objective{{"time"}, {{"drop", 0.003}}};
  EXPECT_EQ(Violation(objective, {{{"drop", 0.003}}, {}, ""}), 0.0);
}

TEST(Violation, OfALimitOfZeroIsFiniteAndPositive) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_DOUBLE_EQ(Violation(objective, {{{"drop", 2e-9}}, {}, ""}), 2.0);
}

TEST(Violation, RefusesAMetricThatWasNotMeasured) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_EQ(ErrorOf([&] {
              (void)Violation(objective, {{{"kl", 1}, {"time", 2}}, {}, ""});
            }),
            "no metric 'drop'; measured: kl, time");
}

TEST(ObjectiveValues, AreInTheOrderOfTheObjective) {
  const Evaluation evaluation{{{"a", 1}, {"b", 2}, {"c", 3}}, {}, ""};
  EXPECT_EQ(ObjectiveValues({{"c", "a"}, {}}, evaluation), (std::vector<double>{3, 1}));
}

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
