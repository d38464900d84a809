#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "agents/policy/walk_policy.h"
#include "agents/sobol/sobol_sequence.h"
#include "agents/tpe/parzen.h"
#include "compiler/base/rng.h"
#include "tests/agents/small_space.h"

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::Decision;

TEST(SobolSequence, HasOnePointInEveryIntervalOfEveryDimension) {
  constexpr std::size_t kDimensions = 120;
  const SobolSequence sequence(kDimensions);
  for (const std::uint32_t bits : {1U, 4U, 7U, 10U}) {
    for (std::size_t dimension = 0; dimension < kDimensions; ++dimension) {
      std::set<std::uint32_t> intervals;
      for (std::uint64_t n = 0; n < std::uint64_t{1} << bits; ++n) {
        intervals.insert(sequence.Coordinate(n, dimension) >> (32 - bits));
      }
      ASSERT_EQ(intervals.size(), std::size_t{1} << bits) << dimension;
    }
  }
}

TEST(SobolSequence, HasDimensionsThatDiffer) {
  const SobolSequence sequence(60);
  std::set<std::vector<std::uint32_t>> points;
  for (std::size_t dimension = 0; dimension < 60; ++dimension) {
    std::vector<std::uint32_t> first;
    for (std::uint64_t n = 0; n < 64; ++n) first.push_back(sequence.Coordinate(n, dimension));
    points.insert(first);
  }
  EXPECT_EQ(points.size(), 60U);
}

TEST(Parzen, IsADensity) {
  const auto all = All(kDecisions);
  const std::vector<Parzen::Centre> centres = {{&all[3], 0.5}, {&all[17], 2}, {&all[3], 1}};
  Parzen parzen(kDecisions, centres, 0.3);
  parzen.Add({.at = &all[5]});
  double sum = 0;
  for (const Assignment& assignment : all) sum += std::exp(parzen.LogDensity(assignment));
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

/// A decision about amounts beside one about names.
const std::vector<Decision> kWithAmounts = {{"tile", {"a", "b", "c", "d"}, "tile", {8, 1, 2, 4}},
                                            {"kind", {"x", "y"}}};

TEST(Parzen, DrawsAmountsNearTheCentre) {
  const Assignment centre = {1, 0};
  const std::vector<Parzen::Centre> centres = {{&centre, 3}};
  const Parzen parzen(kWithAmounts, centres, 0.3);
  std::map<Assignment, int> counts;
  Rng rng(12);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[parzen.Draw(rng)];
  double sum = 0;
  for (const Assignment& assignment : All(kWithAmounts)) {
    const double p = std::exp(parzen.LogDensity(assignment));
    sum += p;
    EXPECT_NEAR(counts[assignment], kDraws * p, 5 * std::sqrt(kDraws * p) + 1);
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
  // From 1 on the amounts are 1, 2, 4, 8.
  EXPECT_GT(parzen.LogDensity({1, 0}), parzen.LogDensity({2, 0}));
  EXPECT_GT(parzen.LogDensity({2, 0}), parzen.LogDensity({3, 0}));
  EXPECT_GT(parzen.LogDensity({3, 0}), parzen.LogDensity({0, 0}));
}

TEST(Parzen, DrawsWhatItsDensitySays) {
  const auto all = All(kDecisions);
  const std::vector<Parzen::Centre> centres = {{&all[3], 0.5}, {&all[17], 2}};
  const Parzen parzen(kDecisions, centres, 0.3);
  EXPECT_GT(parzen.LogDensity(all[17]), parzen.LogDensity(all[3]) + 0.5);
  std::map<Assignment, int> counts;
  Rng rng(12);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[parzen.Draw(rng)];
  for (const Assignment& assignment : all) {
    const double p = std::exp(parzen.LogDensity(assignment));
    EXPECT_NEAR(counts[assignment], kDraws * p, 5 * std::sqrt(kDraws * p) + 1);
  }
}

/// Choices of neighbours that are both 1 are ruled out.
std::vector<bool> NoTwoOnes(std::span<const std::int32_t> prefix) {
  std::vector<bool> flags(kDecisions[prefix.size()].choices.size(), true);
  if (flags.size() > 1 && !prefix.empty() && prefix.back() == 1) flags[1] = false;
  return flags;
}

TEST(WalkPolicy, IsADistributionOverWhatIsLegal) {
  const WalkPolicy policy({.decisions = kDecisions, .seed = 3, .mask = NoTwoOnes});
  double sum = 0;
  for (const Assignment& walk : All(kDecisions)) sum += std::exp(policy.LogProbability(walk));
  EXPECT_NEAR(sum, 1.0, 1e-12);
  std::map<Assignment, int> counts;
  Rng rng(12);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[policy.Draw(rng)];
  for (const Assignment& walk : All(kDecisions)) {
    const double p = std::exp(policy.LogProbability(walk));
    EXPECT_NEAR(counts[walk], kDraws * p, 5 * std::sqrt(kDraws * p) + 1e-9);
  }
}

TEST(WalkPolicy, HasTheGradientOfItsLogProbability) {
  WalkPolicy policy({.decisions = kDecisions,
                     .seed = 3,
                     .prior = {.features = {{0.1, 1}, {0.5, -1}, {0, 0.3}, {-0.7, 2}}},
                     .mask = NoTwoOnes});
  const Assignment walk = {1, 0, 0, 2};
  const Assignment other = {0, 2, 0, 3};
  const std::vector<Lesson> lessons = {{&walk, 0.7}, {&other, -0.4}};
  const std::vector<double> gradient = policy.Gradient(lessons);
  const auto value = [&] {
    return 0.7 * policy.LogProbability(walk) - 0.4 * policy.LogProbability(other);
  };
  constexpr double kStep = 1e-5;
  std::vector<double>& parameters = policy.parameters();
  ASSERT_EQ(gradient.size(), parameters.size());
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const double kept = parameters[k];
    parameters[k] = kept + kStep;
    const double above = value();
    parameters[k] = kept - kStep;
    const double below = value();
    parameters[k] = kept;
    EXPECT_NEAR(gradient[k], (above - below) / (2 * kStep), 1e-6) << k;
  }
}

TEST(WalkPolicy, MakesWhatWasGoodMoreLikely) {
  WalkPolicy policy({.decisions = kDecisions, .seed = 3});
  const Assignment good = {1, 2, 0, 3};
  const Assignment bad = {0, 0, 0, 0};
  const double good_before = policy.LogProbability(good);
  const double bad_before = policy.LogProbability(bad);
  for (int i = 0; i < 30; ++i) policy.Learn(std::vector<Lesson>{{&good, 1}, {&bad, -1}}, 4);
  EXPECT_GT(policy.LogProbability(good), good_before + 1);
  EXPECT_LT(policy.LogProbability(bad), bad_before - 1);
}

TEST(WalkPolicy, TakesADecisionForOnesWithItsFeatures) {
  const std::vector<gym::Decision> decisions(6, {.name = "layer", .choices = {"f32", "int8"}});
  // What is right for a decision is the sign of its feature. Nothing is said of the last two.
  WalkPolicy policy({.decisions = decisions,
                     .seed = 3,
                     .prior = {.features = {{1}, {1}, {-1}, {-1}, {1}, {-1}}}});
  std::vector<Assignment> good;
  std::vector<Assignment> bad;
  for (const std::int32_t first : {0, 1}) {
    for (const std::int32_t second : {0, 1}) {
      good.push_back({1, 1, 0, 0, first, second});
      bad.push_back({0, 0, 1, 1, first, second});
    }
  }
  std::vector<Lesson> lessons;
  for (std::size_t i = 0; i < good.size(); ++i) {
    lessons.push_back({&good[i], 1});
    lessons.push_back({&bad[i], -1});
  }
  for (int i = 0; i < 10; ++i) policy.Learn(lessons, 4);
  EXPECT_GT(policy.LogProbability({1, 1, 0, 0, 1, 0}),
            policy.LogProbability({1, 1, 0, 0, 0, 1}) + 0.5);
}

}  // namespace
}  // namespace msc::agents
