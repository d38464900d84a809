#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "agents/common/method.h"
#include "agents/common/mixed_radix.h"
#include "agents/grid/grid_agent.h"
#include "agents/grid/sweep_agent.h"
#include "agents/random/random_agent.h"

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::Decision;

const std::vector<Decision> kDecisions = {{"a", {"x", "y"}}, {"b", {"x"}}, {"c", {"x", "y", "z"}}};

TEST(NthAssignment, CountsThroughTheSpaceWithTheLastDecisionFastest) {
  const std::vector<Assignment> all = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2},
                                       {1, 0, 0}, {1, 0, 1}, {1, 0, 2}};
  for (std::uint64_t n = 0; n < all.size(); ++n) EXPECT_EQ(NthAssignment(kDecisions, n), all[n]);
}

TEST(NthAssignment, EndsAfterTheLast) {
  EXPECT_EQ(NthAssignment(kDecisions, 6), std::nullopt);
  EXPECT_EQ(NthAssignment(kDecisions, std::numeric_limits<std::uint64_t>::max()), std::nullopt);
}

TEST(NthAssignment, DoesNotOverflowWhereTheSpaceIsLargerThan64Bits) {
  const std::vector<Decision> decisions(100, Decision{"d", {"0", "1"}});
  const auto last = NthAssignment(decisions, std::numeric_limits<std::uint64_t>::max());
  ASSERT_TRUE(last.has_value());
  Assignment expected(100, 0);
  std::fill(expected.begin() + 36, expected.end(), 1);
  EXPECT_EQ(*last, expected);
}

TEST(NthAssignment, EndsWhereTheSpaceIsExactly64Bits) {
  const std::vector<Decision> decisions(64, Decision{"d", {"0", "1"}});
  EXPECT_EQ(NthAssignment(decisions, std::numeric_limits<std::uint64_t>::max()), Assignment(64, 1));
}

TEST(GridAgent, StartsWithTheFirstAssignmentAtItsFirstTrial) {
  const auto agent = MakeGridAgent({.decisions = kDecisions, .first_trial = 3});
  EXPECT_EQ(agent->Ask(3, 2), (std::vector<Assignment>{{0, 0, 0}, {0, 0, 1}}));
  EXPECT_EQ(agent->Ask(8, 5), (std::vector<Assignment>{{1, 0, 2}}));
}

TEST(GridAgent, ReachesTheLastTrialNumberAndStops) {
  std::vector<Decision> decisions;
  for (int i = 0; i < 70; ++i) decisions.push_back({std::to_string(i), {"0", "1"}});
  const auto agent = MakeGridAgent({.decisions = decisions});
  EXPECT_EQ(agent->Ask(std::numeric_limits<std::uint64_t>::max() - 1, 10).size(), 2U);
}

TEST(SweepAgent, TriesEachChoiceAloneThenTheBestOfEachTogether) {
  const std::vector<Decision> decisions = {
      {"a", {"x", "y"}}, {"b", {"x", "y", "z"}}, {"c", {"x", "y", "z"}}, {"d", {"x", "y"}}};
  const auto agent = MakeSweepAgent({.decisions = decisions, .seed = 1});
  // What each choice adds: the last of "b" is its best, "d" is best left as it is.
  const std::vector<std::vector<double>> adds = {{0, -1}, {0, -1, -2}, {0, -3, -1}, {0, 1}};
  std::vector<Assignment> asked;
  while (asked.size() < 8) {
    const std::vector<Assignment> proposals = agent->Ask(asked.size(), agent->round().value());
    ASSERT_FALSE(proposals.empty());
    std::vector<gym::TrialResult> results;
    for (const Assignment& proposal : proposals) {
      double sum = 0;
      for (std::size_t i = 0; i < adds.size(); ++i) {
        sum += adds[i].at(static_cast<std::size_t>(proposal[i]));
      }
      results.push_back({.trial = asked.size(), .assignment = proposal, .objectives = {sum}});
      asked.push_back(proposal);
    }
    agent->Tell(results);
  }
  const std::vector<Assignment> alone = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 2, 0, 0},
                                         {0, 0, 1, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}};
  EXPECT_EQ(std::vector<Assignment>(asked.begin(), asked.begin() + 7), alone);
  // Trial 7 fills the second round; the third begins with all the best.
  EXPECT_EQ(agent->Ask(8, 1), (std::vector<Assignment>{{1, 2, 1, 0}}));
}

/// So large that nothing is drawn twice.
std::vector<Decision> LargeSpace() {
  std::vector<Decision> decisions = kDecisions;
  for (int i = 0; i < 60; ++i) decisions.push_back({"more" + std::to_string(i), {"0", "1"}});
  return decisions;
}

TEST(RandomAgent, DrawsEveryChoiceAboutEquallyOften) {
  const auto agent = MakeRandomAgent({.decisions = LargeSpace(), .seed = 11});
  std::map<std::int32_t, int> counts;
  for (std::uint64_t first = 0; first < 6144; first += 256) {
    for (const Assignment& assignment : agent->Ask(first, 256)) ++counts[assignment[2]];
  }
  ASSERT_EQ(counts.size(), 3U);
  // 5 deviations of a binomial(6144, 1/3) are 185.
  for (const auto& [choice, count] : counts) EXPECT_NEAR(count, 2048, 185) << choice;
}

TEST(RandomAgent, DrawsDecisionsIndependently) {
  const auto agent = MakeRandomAgent({.decisions = LargeSpace(), .seed = 11});
  std::map<std::pair<std::int32_t, std::int32_t>, int> counts;
  for (std::uint64_t first = 0; first < 6144; first += 256) {
    for (const Assignment& a : agent->Ask(first, 256)) ++counts[{a[0], a[2]}];
  }
  ASSERT_EQ(counts.size(), 6U);
  // 5 deviations of a binomial(6144, 1/6) are 146.
  for (const auto& [pair, count] : counts) EXPECT_NEAR(count, 1024, 146);
}

TEST(RandomAgent, DrawsOtherTrialsFromAnotherSeed) {
  std::vector<Decision> decisions;
  for (int i = 0; i < 40; ++i) decisions.push_back({std::to_string(i), {"0", "1"}});
  std::set<Assignment> drawn;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (auto& item : MakeRandomAgent({.decisions = decisions, .seed = seed})->Ask(0, 10)) {
      drawn.insert(std::move(item));
    }
  }
  EXPECT_EQ(drawn.size(), 100U);
}

/// Draws at random and keeps the numbers of the trials that it hears of, by round.
class Listener final : public Method {
 public:
  explicit Listener(std::vector<std::vector<std::uint64_t>>& heard) : heard_(heard) {}
  void Learn(const History& /*history*/, std::span<const gym::TrialResult> round) override {
    heard_.emplace_back();
    for (const gym::TrialResult& told : round) heard_.back().push_back(told.trial);
  }
  void Propose(Draft& draft) const override { draft.AddRandom(); }

 private:
  std::vector<std::vector<std::uint64_t>>& heard_;
};

/// Goes on from `known` trials for `rounds` rounds; returns what the method hears of.
std::vector<std::vector<std::uint64_t>> HeardByRound(std::uint64_t known, int rounds) {
  std::vector<std::vector<std::uint64_t>> heard;
  const auto agent = MakeRoundAgent({.decisions = LargeSpace(), .first_trial = known}, 4,
                                    std::make_unique<Listener>(heard), Rounds::kGrowing);
  const auto tell = [&](std::uint64_t first, const std::vector<Assignment>& at) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      const gym::TrialResult told{.trial = first + i, .assignment = at[i], .objectives = {1.0}};
      agent->Tell({&told, 1});
    }
  };
  tell(0, MakeRandomAgent({.decisions = LargeSpace(), .seed = 1})->Ask(0, known));
  for (std::uint64_t first = known; rounds > 0; --rounds) {
    const auto proposals = agent->Ask(first, *agent->round());
    EXPECT_EQ(proposals.size(), *agent->round());
    tell(first, proposals);
    first += proposals.size();
  }
  return heard;
}

TEST(RoundAgent, GrowsItsRoundsToAnEighthOfWhatIsKnown) {
  // The last round is heard of when the one after it is asked for.
  const std::vector<std::vector<std::uint64_t>> expected = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
      {14},
      {15},
      {16, 17},
      {18, 19},
      {20, 21},
      {22, 23},
      {24, 25, 26},
      {27, 28, 29},
      {30, 31, 32},
      {33, 34, 35, 36}};
  EXPECT_EQ(HeardByRound(14, 11), expected);
}

TEST(RoundAgent, HasWholeRoundsAtOnceAfterAnEarlierStudy) {
  const auto heard = HeardByRound(40, 3);
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[0].size(), 40U);
  EXPECT_EQ(heard[1], (std::vector<std::uint64_t>{40, 41, 42, 43}));
  EXPECT_EQ(heard[2], (std::vector<std::uint64_t>{44, 45, 46, 47}));
}

}  // namespace
}  // namespace msc::agents
