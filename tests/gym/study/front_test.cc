#include "gym/study/front.h"

#include <gtest/gtest.h>

#include "gym/study/study.h"

namespace msc::gym {
namespace {

/// A trial of the objective {cost, error} with error <= 30.
Trial Measured(std::uint64_t number, double cost, double error) {
  Trial trial;
  trial.number = number;
  trial.source = number < 2 ? "anchor:some" : "agent";
  trial.evaluation.metrics = {{"cost", cost}, {"error", error}};
  return trial;
}

const Objective kTwo = {{"cost", "error"}, {{"error", 30}}};

TEST(StopCheck, CountsLessViolationAsImprovementUntilSomethingIsFeasible) {
  StopCheck check({.plateau = 2, .goal = {}}, kTwo);
  check.Hear(Measured(0, 9, 60));
  check.Hear(Measured(1, 5, 60));  // no improvement: 1
  check.Hear(Measured(2, 9, 50));
  check.Hear(Measured(3, 9, 30));
  check.Hear(Measured(4, 1, 31));  // 1
  EXPECT_EQ(check.reason(), std::nullopt);
  check.Hear(Measured(5, 10, 29));  // a new member of the front
  check.Hear(Measured(6, 10, 29));  // 1
  EXPECT_EQ(check.reason(), std::nullopt);
  check.Hear(Measured(7, 11, 29));  // 2
  EXPECT_EQ(check.reason(), StopReason::kPlateau);
}

TEST(FeasibleFront, HasAHypervolumeBelowTheWorstOfTheBaselines) {
  const std::vector<Trial> trials = {Measured(0, 10, 0), Measured(1, 4, 40), Measured(2, 6, 20),
                                     Measured(3, 8, 10), Measured(4, 5, 31), Measured(5, 99, 1)};
  // By hand: (10 - 6) (40 - 20) + (10 - 8) (20 - 10); infeasible ones do not count.
  EXPECT_EQ(VolumeText(kTwo, trials), "hypervolume 100 below cost 10, error 40");
  EXPECT_EQ(VolumeText({{"cost"}, {}}, trials), "") << "one objective has none";
  EXPECT_EQ(VolumeText(kTwo, {}), "");
}

TEST(SharesOf, TellsWhatEachSourceAddedWhen) {
  std::vector<Trial> trials = {Measured(0, 10, 0), Measured(1, 4, 40), Measured(2, 6, 20),
                               Measured(3, 8, 10), Measured(4, 5, 31), Measured(5, 9, 25),
                               Measured(6, 5, 20)};
  trials[2].source = trials[6].source = "from:7";
  trials[5].repeated = true;
  trials[4].evaluation = {{}, Failure{FailureKind::kTimeout, "after 30 s"}, ""};
  const std::vector<SourceShare> shares = SharesOf(kTwo, trials);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].source, "anchor");
  EXPECT_EQ(shares[0].trials, 2U);
  EXPECT_EQ(shares[0].feasible, 1U);
  EXPECT_EQ(shares[0].best, 0U);
  EXPECT_EQ(shares[0].gained, 0) << "on the edge of the reference (10, 40)";
  EXPECT_EQ(shares[1].source, "from");
  EXPECT_EQ(shares[1].best, 6U);
  EXPECT_EQ(shares[1].better, 2U);
  EXPECT_EQ(shares[1].last_better, 6U);
  // (10 - 6) (40 - 20) first, then a strip of 1 by 20.
  EXPECT_EQ(shares[1].gained, 80 + 20);
  EXPECT_EQ(shares[2].source, "agent");
  EXPECT_EQ(shares[2].trials, 3U);
  EXPECT_EQ(shares[2].failed, 1U);
  EXPECT_EQ(shares[2].repeated, 1U);
  EXPECT_EQ(shares[2].first, 3U);
  EXPECT_EQ(shares[2].last, 5U);
  EXPECT_EQ(shares[2].better, 1U);
  EXPECT_EQ(shares[2].gained, (10 - 8) * (20 - 10));
  EXPECT_EQ(SharesOf({{"cost"}, {}}, trials)[1].gained, 0) << "one objective has no volume";
}

TEST(ParetoOf, IsOfTrialsThatKeepTheLimits) {
  // Nothing beats trial 1 or 4, but they miss the limit; only among those that keep it is 3 beaten.
  const std::vector<Trial> trials = {Measured(0, 10, 20), Measured(1, 4, 40), Measured(2, 6, 20),
                                     Measured(3, 8, 25),  Measured(4, 5, 31), Measured(5, 9, 1)};
  EXPECT_EQ(ParetoOf(kTwo, trials), (std::vector<std::size_t>{2, 5}));
}

TEST(ParetoOf, IsOfAllWhereNoTrialKeepsTheLimits) {
  std::vector<Trial> trials = {Measured(0, 10, 60), Measured(1, 4, 40), Measured(2, 6, 31),
                               Measured(3, 1, 30)};
  trials[3].evaluation.dropped = true;  // its metrics are rough
  EXPECT_EQ(ParetoOf(kTwo, trials), (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace msc::gym
