#include "gym/study/time_budget.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gym/study/conduct.h"
#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

using testing::Conduct;
using testing::FakeProblem;
using testing::Kind;
using testing::MakeAgent;
using testing::Options;
using testing::RecordsOf;
using testing::SimDisk;
using testing::SimFile;

/// Conducts a study on a clock of which every trial takes so many seconds.
struct Timed {
  SimDisk& disk;
  FakeProblem& problem;
  double now = 0;
  std::vector<double> took = {3};  ///< by trial; the last one goes for those that follow
  std::vector<std::pair<double, double>> heard = {};  ///< the time, and what was said to be left

  StudyResult Run(StudyOptions options, TimeBudget& budget, std::uint64_t interrupted = 0) {
    options.time = &budget;
    Journal journal(std::make_unique<SimFile>(disk));
    budget.AddEarlier(UsedIn(journal.records()));
    const auto agent = MakeAgent(Kind::kFree, problem, options.seed);
    std::size_t made = 0;
    problem.works = [&] { now += took[std::min(made++, took.size() - 1)]; };
    return RunStudy(
        problem, *agent, journal, options,
        [&](const Progress& progress) { heard.emplace_back(now, progress.left.count()); },
        [&] { return interrupted > 0 && made >= interrupted; });
  }
  TimeBudget Budget(double seconds) {
    return TimeBudget(seconds, [this] { return now; });
  }
};

/// Trials that took time.
std::size_t Made(const StudyResult& result) {
  return static_cast<std::size_t>(std::count_if(result.trials.begin(), result.trials.end(),
                                                [](const Trial& t) { return !t.repeated; }));
}

TEST(TimeBudget, IsUsedSinceItWasMadeAndBefore) {
  double now = 1000;
  TimeBudget budget(60, [&] { return now; });
  EXPECT_EQ(budget.Left(), 60);
  now += 10;
  budget.AddEarlier(15);
  EXPECT_EQ(budget.Used(), 25);
  EXPECT_EQ(budget.Left(), 35);
  budget.Reserve(20);
  EXPECT_EQ(budget.Free(), 15);
  EXPECT_FALSE(budget.Over());
  now += 15;
  EXPECT_TRUE(budget.Over());
  EXPECT_EQ(budget.Left(), 20);
  now += 1000;
  EXPECT_EQ(budget.Left(), 0);
  EXPECT_EQ(budget.Free(), 0);
}

TEST(TimeBudget, HasNoEndWhereThereIsNoLimit) {
  double now = 0;
  TimeBudget budget(0, [&] { return now; });
  budget.Reserve(100);
  now = 1e9;
  EXPECT_FALSE(budget.limited());
  EXPECT_FALSE(budget.Over());
  EXPECT_TRUE(std::isinf(budget.Left()));
  EXPECT_TRUE(std::isinf(budget.Free()));
}

TEST(TimeBudget, EndsAStudyAndLeavesWhatIsKeptBack) {
  for (const auto& [reserved, trials] : {std::pair(0.0, 4U), {4.5, 2U}, {9.0, 1U}}) {
    SimDisk disk;
    FakeProblem problem;
    Timed timed{disk, problem};
    TimeBudget budget = timed.Budget(10);
    budget.Reserve(reserved);
    const StudyResult result = timed.Run(Options(100), budget);
    EXPECT_EQ(Made(result), trials) << reserved;
    EXPECT_EQ(result.stop, StopReason::kTime);
    EXPECT_EQ(ReadStudy(RecordsOf(disk)).stop, StopReason::kTime);
  }
}

TEST(TimeBudget, CountsWhatAStudyUsedBeforeItWasResumed) {
  SimDisk disk;
  FakeProblem problem;
  {
    Timed timed{disk, problem};
    TimeBudget budget = timed.Budget(10);
    EXPECT_EQ(timed.Run(Options(100), budget, 2).stop, StopReason::kInterrupted);
  }
  EXPECT_EQ(UsedIn(RecordsOf(disk)), 6);
  // Another start has a clock of its own.
  Timed timed{disk, problem, 500};
  TimeBudget budget = timed.Budget(10);
  const StudyResult result = timed.Run(Options(100), budget);
  EXPECT_EQ(Made(result), 4U);
  EXPECT_EQ(result.stop, StopReason::kTime);
  EXPECT_EQ(UsedIn(RecordsOf(disk)), 12);
}

TEST(TimeBudget, GivesAnAnswerWhereAllWasUsedBefore) {
  SimDisk disk;
  FakeProblem problem;
  Timed timed{disk, problem};
  TimeBudget budget = timed.Budget(10);
  budget.AddEarlier(50);
  const StudyResult result = timed.Run(Options(100), budget);
  EXPECT_EQ(Made(result), 1U);
  EXPECT_EQ(result.best, 0U);
  // Resumed, it has one.
  TimeBudget again = timed.Budget(10);
  EXPECT_EQ(Made(timed.Run(Options(100), again)), 1U);
}

TEST(TimeBudget, AKillLosesCountOfFewSeconds) {
  SimDisk disk;
  FakeProblem problem;
  Timed timed{disk, problem, 0, {1}};
  TimeBudget budget = timed.Budget(100);
  EXPECT_EQ(timed.Run(Options(100), budget, 21).stop, StopReason::kInterrupted);
  EXPECT_GE(UsedIn(RecordsOf(disk)), 19);
  EXPECT_LE(UsedIn(RecordsOf(disk)), 21);
}

TEST(TimeBudget, TellsTheTimeLeftWhenATenthIsDone) {
  SimDisk disk;
  FakeProblem problem;
  // The first trial finds no kernel in any cache.
  Timed timed{disk, problem, 0, {20, 1}};
  TimeBudget unlimited = timed.Budget(0);
  (void)timed.Run(Options(40), unlimited);
  ASSERT_EQ(timed.heard.size(), 41U);
  const double end = timed.heard.back().first;
  for (std::size_t done = 4; done < 37; ++done) {
    const auto& [at, said] = timed.heard[done];
    EXPECT_LE(said, 2 * (end - at)) << done;
    EXPECT_GE(said, (end - at) / 2) << done;
  }
}

TEST(UsedIn, IsWhatTheLastRecordSays) {
  const std::vector<std::string> records = {R"({"type":"study"})", R"({"type":"start","used":2.5})",
                                            TickRecord(7.25), R"({"type":"task"})"};
  EXPECT_EQ(UsedIn(records), 7.25);
  EXPECT_EQ(UsedIn({}), 0);
}

TEST(UsedIn, IsWhatTrialsTookWhereAnOlderProgramWroteThem) {
  Trial trial;
  trial.assignment = {0};
  trial.seconds = 2;
  Trial second = trial;
  second.number = 1;
  second.seconds = 3;
  EXPECT_EQ(UsedIn(std::vector<std::string>{R"({"type":"study"})", R"({"type":"start"})",
                                            ToJson(trial), R"({"type":"tick"})", ToJson(second)}),
            5);
}

TEST(UsedIn, RefusesWhatIsNoNumberOfSeconds) {
  for (const char* used : {"-1", "\"5\"", "null"}) {
    const std::vector<std::string> records = {
        R"({"type":"study"})", std::string(R"({"type":"tick","used":)") + used + "}"};
    EXPECT_EQ(ErrorOf([&] { (void)UsedIn(records); }),
              std::string("journal record 1: 'used' must be a number of seconds, not ") + used);
  }
}

}  // namespace
}  // namespace msc::gym
