#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gym/study/conduct.h"

namespace msc::gym {
namespace {

using testing::FakeProblem;
using testing::Kind;
using testing::MakeAgent;
using testing::Options;
using testing::RecordsOf;
using testing::SimDisk;
using testing::SimFile;
using testing::Timeless;

/// A study whose trials that reach the goal are measured again; only some of them do then.
struct Checked {
  SimDisk& disk;
  FakeProblem& problem;
  Kind kind = Kind::kRound;
  double truth = 5.5;  ///< the largest cost that is no mere noise
  std::vector<std::vector<std::uint64_t>> asked = {};

  StudyResult Run(StudyOptions options, const std::function<bool()>& stop = {},
                  bool answers = true) {
    options.confirm = [&, answers](const std::vector<Trial>& claims) -> std::optional<bool> {
      bool holds = false;
      asked.emplace_back();
      for (const Trial& trial : claims) {
        asked.back().push_back(trial.number);
        holds = holds || trial.evaluation.metrics.at("cost") <= truth;
      }
      return answers ? std::optional(holds) : std::nullopt;
    };
    Journal journal(std::make_unique<SimFile>(disk));
    const auto agent = MakeAgent(kind, problem, options.seed);
    return RunStudy(problem, *agent, journal, options, {}, stop);
  }
};

StudyOptions Goal(double cost, std::uint64_t trials = 400) {
  StudyOptions options = Options(trials);
  options.stop.goal = {{"cost", cost}};
  return options;
}

TEST(Goal, IsNotReachedByATrialThatDoesNotReachItAgain) {
  SimDisk disk;
  FakeProblem problem;
  Checked checked{disk, problem};
  const StudyResult result = checked.Run(Goal(6.5));
  EXPECT_EQ(result.stop, StopReason::kGoal);
  ASSERT_GT(checked.asked.size(), 1U) << "choose another seed: none was refuted";
  // The trials that ended it are those that held, and nobody was asked about twice.
  std::map<Assignment, int> times;
  for (const auto& claims : checked.asked) {
    for (const std::uint64_t number : claims) ++times[result.trials[number].assignment];
  }
  for (const auto& [assignment, count] : times) EXPECT_EQ(count, 1);
  const Trial& first = result.trials[checked.asked.back().front()];
  EXPECT_LE(first.evaluation.metrics.at("cost"), checked.truth) << "best first";
  for (std::size_t i = 0; i + 1 < checked.asked.size(); ++i) {
    for (const std::uint64_t number : checked.asked[i]) {
      EXPECT_GT(result.trials[number].evaluation.metrics.at("cost"), checked.truth);
    }
  }
}

TEST(Goal, ThatNothingReachesAgainEndsNothing) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk disk;
    FakeProblem problem;
    Checked checked{disk, problem, kind, 0};
    EXPECT_EQ(checked.Run(Goal(6.5, 120)).stop, StopReason::kTrials);
    EXPECT_FALSE(checked.asked.empty());
  }
}

TEST(Goal, InterruptedAnywhereIsReachedAtTheSameTrialAndAskedOnce) {
  SimDisk whole_disk;
  FakeProblem whole_problem;
  Checked whole{whole_disk, whole_problem};
  const StudyResult expected = whole.Run(Goal(6.5));
  for (int after = 1; after < 60; ++after) {
    SimDisk disk;
    FakeProblem problem;
    Checked checked{disk, problem};
    int polls = 0;
    (void)checked.Run(Goal(6.5), [&] { return ++polls > after; });
    const StudyResult result = checked.Run(Goal(6.5));
    EXPECT_EQ(result.stop, StopReason::kGoal);
    EXPECT_EQ(Timeless(result.trials), Timeless(expected.trials)) << after;
    EXPECT_EQ(checked.asked, whole.asked) << after;
  }
}

TEST(Goal, ThatIsAnotherAfterAResumeIsAskedForAgain) {
  SimDisk disk;
  FakeProblem problem;
  Checked checked{disk, problem};
  checked.truth = 0;
  (void)checked.Run(Goal(6.5, 60));
  const auto before = checked.asked;
  ASSERT_FALSE(before.empty());
  checked.asked.clear();
  checked.truth = 100;
  EXPECT_EQ(checked.Run(Goal(6.5, 60)).stop, StopReason::kTrials);
  EXPECT_TRUE(checked.asked.empty()) << "the journal says that they do not hold";
  EXPECT_EQ(checked.Run(Goal(6.25, 60)).stop, StopReason::kGoal);
  EXPECT_EQ(checked.asked.size(), 1U);
}

TEST(Goal, ThatTimeDidNotSufficeToSettleIsOpen) {
  SimDisk disk;
  FakeProblem problem;
  Checked checked{disk, problem};
  const StudyResult cut = checked.Run(Goal(6.5), {}, false);
  EXPECT_EQ(cut.stop, StopReason::kTime);
  EXPECT_EQ(checked.asked.size(), 1U);
  EXPECT_EQ(checked.Run(Goal(6.5)).stop, StopReason::kGoal);
  EXPECT_EQ(checked.asked[0], checked.asked[1]);
}

}  // namespace
}  // namespace msc::gym
