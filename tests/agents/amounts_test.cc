#include "agents/common/amounts.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "agents/gp/gp_agent.h"
#include "agents/gp/mixed_process.h"
#include "agents/tpe/tpe_agent.h"

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::Decision;

TEST(PlacesOf, AreTheMeanOfRankAndLogarithm) {
  EXPECT_EQ(PlacesOf({"a", {"x", "y"}}), std::vector<double>());
  EXPECT_EQ(PlacesOf({"a", {"x", "y"}, "bits", {8, 8}}), std::vector<double>());
  EXPECT_EQ(PlacesOf({"a", {"w", "x", "y", "z"}, "bits", {8, 2, 4, 2}}),
            (std::vector<double>{1, 0, 0.5, 0}));
  // With an amount of 0 there are no logarithms.
  EXPECT_EQ(PlacesOf({"a", {"x", "y", "z"}, "share", {0, 0.25, 1}}),
            (std::vector<double>{0, 0.375, 1}));
}

TEST(DrawNextAmount, IsTheNextOneInHalfOfTheDraws) {
  const Decision decision{"a", {"w", "x", "y", "z", "v"}, "bits", {8, 2, 4, 2, 16}};
  Rng rng(3);
  std::map<std::optional<std::int32_t>, int> from_four;
  std::map<std::optional<std::int32_t>, int> from_largest;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    ++from_four[DrawNextAmount(decision, 2, rng)];
    ++from_largest[DrawNextAmount(decision, 4, rng)];
  }
  ASSERT_EQ(from_four.size(), 3U);
  EXPECT_NEAR(from_four[std::nullopt], kDraws / 2, 200);
  EXPECT_NEAR(from_four[0], kDraws / 4, 200);  // 8
  EXPECT_NEAR(from_four[1], kDraws / 4, 200);  // 2, the first of two
  ASSERT_EQ(from_largest.size(), 2U);
  EXPECT_NEAR(from_largest[0], kDraws / 2, 200);
}

TEST(DrawNextAmount, DrawsNothingForNames) {
  Rng rng(3);
  Rng same(3);
  EXPECT_EQ(DrawNextAmount({"a", {"x", "y"}}, 0, rng), std::nullopt);
  EXPECT_EQ(rng.Below(1000), same.Below(1000));
  EXPECT_EQ(DrawNextAmount({"a", {"x", "y"}, "bits", {8, 8}}, 0, rng), std::nullopt);
}

/// Returns decisions of 12 choices: shuffled powers of two, or names only.
std::vector<Decision> Shuffled(std::size_t count, bool told) {
  std::vector<Decision> decisions;
  for (std::size_t d = 0; d < count; ++d) {
    Decision& decision = decisions.emplace_back();
    decision.name = "d" + std::to_string(d);
    for (std::size_t i = 0; i < 12; ++i) {
      decision.choices.push_back(std::to_string(i));
      // 5 and 12 have no common divisor, so that each power occurs once.
      if (told) decision.values.push_back(std::exp2((5 * i + d) % 12));
    }
    if (told) decision.quantity = "tile";
  }
  return decisions;
}

/// Returns the squared distance from the middle of the amounts that `Shuffled` has told or not.
double Bowl(const Assignment& at) {
  double sum = 1;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto power = static_cast<double>((5 * static_cast<std::size_t>(at[d]) + d) % 12);
    sum += (power - 6) * (power - 6);
  }
  return sum;
}

struct Search {
  double best = std::numeric_limits<double>::infinity();
  int failures = 0;
};

using MakeAgent = std::unique_ptr<gym::Agent> (*)(const gym::AgentSetup& setup);

/// Makes `trials` trials; those whose first decision has an amount of 2^8 or more fail if `fails`.
Search Minimize(bool told, bool fails, std::uint64_t seed, std::uint64_t trials = 40,
                MakeAgent make = MakeGpAgent) {
  const auto agent = make({.decisions = Shuffled(3, told), .seed = seed});
  Search search;
  std::uint64_t trial = 0;
  while (trial < trials) {
    std::vector<gym::TrialResult> results;
    for (const Assignment& at : agent->Ask(trial, *agent->round())) {
      gym::TrialResult& told_back = results.emplace_back();
      told_back.trial = trial++;
      told_back.assignment = at;
      told_back.failed = fails && 5 * at[0] % 12 >= 8;
      search.failures += told_back.failed ? 1 : 0;
      if (told_back.failed) continue;
      told_back.objectives = {Bowl(at)};
      search.best = std::min(search.best, Bowl(at));
    }
    agent->Tell(results);
  }
  return search;
}

TEST(GpAgent, FindsTheBottomOfABowlSoonerIfItKnowsTheOrder) {
  double told = 0;
  double untold = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    told += Minimize(true, false, seed, 16).best;
    untold += Minimize(false, false, seed, 16).best;
  }
  EXPECT_LE(told, 5 * 3.0);  // 1 is the bottom
  EXPECT_LT(told, untold);
}

TEST(TpeAgent, ComesNearerToTheBottomOfABowlIfItKnowsTheOrder) {
  double told = 0;
  double untold = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    told += Minimize(true, false, seed, 60, MakeTpeAgent).best;
    untold += Minimize(false, false, seed, 60, MakeTpeAgent).best;
  }
  EXPECT_LT(told, 0.8 * untold);
}

TEST(GpAgent, AvoidsAmountsThatFail) {
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) failures += Minimize(true, true, seed).failures;
  // A third of the space fails, as do a third of the first eight trials; a random search has 67.
  EXPECT_LE(failures, 34);
}

TEST(MixedProcess, PredictsAmountsBetweenThoseSeen) {
  const std::vector<Decision> decisions = Shuffled(1, true);
  // Choices by power of two.
  std::vector<Assignment> ordered(12, Assignment(1));
  for (std::int32_t i = 0; i < 12; ++i) ordered[static_cast<std::size_t>(5 * i % 12)] = {i};
  std::vector<const Assignment*> at;
  std::vector<double> values;
  for (std::size_t power = 0; power < 12; power += 2) {
    at.push_back(&ordered[power]);
    values.push_back(static_cast<double>(power));
  }
  MixedProcess process(decisions, at, values, std::vector<double>{1});
  for (std::size_t power = 1; power < 10; power += 2) {
    const Assignment* const point = &ordered[power];
    const Prediction before = process.Predict({&point, 1})[0];
    EXPECT_NEAR(before.mean, static_cast<double>(power), 0.3);
    process.Believe(*point);
    const Prediction after = process.Predict({&point, 1})[0];
    EXPECT_NEAR(after.mean, before.mean, 1e-3);
    EXPECT_LT(after.deviation, before.deviation);
  }
}

}  // namespace
}  // namespace msc::agents
