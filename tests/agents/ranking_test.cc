#include "agents/common/ranking.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "gym/core/pareto.h"

namespace msc::agents {
namespace {

using gym::TrialResult;

std::vector<std::vector<double>> RandomPoints(Rng& rng, std::size_t count, std::size_t objectives) {
  std::vector<std::vector<double>> points(count, std::vector<double>(objectives));
  for (auto& point : points) {
    for (auto& value : point) value = static_cast<double>(rng.Below(8));
  }
  return points;
}

std::vector<TrialResult> RandomTrials(Rng& rng, std::size_t count) {
  std::vector<TrialResult> trials;
  for (auto& point : RandomPoints(rng, count, 2)) {
    TrialResult told;
    told.failed = rng.Below(8) == 0;
    if (!told.failed) {
      told.rough = rng.Below(4) == 0;
      told.objectives = point;
      told.violation = static_cast<double>(rng.Below(3));
    }
    trials.push_back(told);
  }
  return trials;
}

TEST(FrontNumbers, AreOneMoreThanTheLargestOfThoseThatBeatATrial) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const auto trials = RandomTrials(rng, 1 + seed % 30);
    std::vector<const TrialResult*> pointers;
    for (const TrialResult& told : trials) pointers.push_back(&told);
    const auto fronts = FrontNumbers(pointers);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      std::uint32_t expected = 0;
      for (std::size_t j = 0; j < trials.size(); ++j) {
        if (ConstrainedDominates(trials[j], trials[i])) {
          expected = std::max(expected, fronts[j] + 1);
        }
      }
      EXPECT_EQ(fronts[i], expected) << seed;
    }
  }
}

TEST(Orders, AreStrictAndTransitive) {
  Rng rng(4);
  const auto trials = RandomTrials(rng, 40);
  for (const auto order : {&IsBetterTrial, &ConstrainedDominates}) {
    for (const TrialResult& a : trials) {
      EXPECT_FALSE(order(a, a));
      for (const TrialResult& b : trials) {
        EXPECT_FALSE(order(a, b) && order(b, a));
        for (const TrialResult& c : trials) {
          EXPECT_TRUE(!(order(a, b) && order(b, c)) || order(a, c));
        }
      }
    }
  }
}

TEST(IsBetterTrial, PutsFeasibilityFirst) {
  const TrialResult failed{.trial = 0, .assignment = {}, .objectives = {}, .failed = true};
  const TrialResult infeasible{.trial = 0, .assignment = {}, .objectives = {1}, .violation = 0.1};
  const TrialResult feasible{.trial = 0, .assignment = {}, .objectives = {9}};
  EXPECT_TRUE(IsBetterTrial(infeasible, failed));
  EXPECT_TRUE(IsBetterTrial(feasible, infeasible));
}

TEST(IsBetterTrial, PutsWhatIsRoughBelowAllFullResultsAndAboveFailures) {
  const TrialResult failed{.trial = 0, .assignment = {}, .objectives = {}, .failed = true};
  const TrialResult infeasible{.trial = 0, .assignment = {}, .objectives = {9}, .violation = 0.1};
  const TrialResult rough{.trial = 0, .assignment = {}, .objectives = {1}, .rough = true};
  for (const auto order : {&IsBetterTrial, &ConstrainedDominates}) {
    EXPECT_TRUE(order(infeasible, rough));
    EXPECT_FALSE(order(rough, infeasible));
    EXPECT_TRUE(order(rough, failed));
  }
}

TEST(CrowdingDistances, AreThoseOfAFrontByHand) {
  const std::vector<std::vector<double>> points = {{0, 4}, {4, 0}, {1, 2}, {2, 1}};
  const double infinity = std::numeric_limits<double>::infinity();
  // (2 - 0) / 4 + (4 - 1) / 4 and (4 - 1) / 4 + (2 - 0) / 4.
  EXPECT_EQ(CrowdingDistances(points), (std::vector<double>{infinity, infinity, 1.25, 1.25}));
}

TEST(SurvivalOrder, TakesFrontsInTurnAndTheEndsOfEachFirst) {
  std::vector<TrialResult> trials;
  for (const auto& point :
       std::vector<std::vector<double>>{{2, 2}, {0, 4}, {1, 3}, {4, 0}, {5, 5}}) {
    trials.push_back({.trial = 0, .assignment = {}, .objectives = point});
  }
  std::vector<const TrialResult*> pointers;
  for (const TrialResult& told : trials) pointers.push_back(&told);
  const auto order = SurvivalOrder(pointers);
  EXPECT_EQ(order.back(), 4U);
  EXPECT_EQ((std::set<std::size_t>{order[0], order[1]}), (std::set<std::size_t>{1, 3}));
  for (std::size_t i = 0; i < order.size(); ++i) pointers[i] = &trials[order[i]];
  EXPECT_EQ(FrontSize(pointers), 4U);
  EXPECT_EQ(FrontSize(std::span(pointers).last(1)), 1U);
  EXPECT_EQ(FrontSize({}), 0U);
}

}  // namespace
}  // namespace msc::agents
