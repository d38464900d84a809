#include "gym/study/study.h"

#include <limits>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "tests/gym/study/conduct.h"
#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

using testing::Conduct;
using testing::FakeProblem;
using testing::FreeAgent;
using testing::Kind;
using testing::Options;
using testing::RecordsOf;
using testing::RoundAgent;
using testing::SetupFor;
using testing::SimDisk;
using testing::SimFile;
using testing::Timeless;

TEST(Study, RunsAnchorsFirstUnderTheirNames) {
  SimDisk disk;
  FakeProblem problem;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(5));
  ASSERT_EQ(result.trials.size(), 5U);
  EXPECT_EQ(result.trials[0].source, "anchor:plain");
  EXPECT_EQ(result.trials[1].source, "anchor:all");
  EXPECT_EQ(result.trials[1].assignment, (Assignment{3, 3, 3}));
  EXPECT_EQ(result.trials[2].source, "fake");
  EXPECT_EQ(result.stop, StopReason::kTrials);
}

TEST(Study, AsksAnAgentWithoutRoundsTogetherWithTheAnchors) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(5));
  EXPECT_EQ(problem.batches, 1);
  SimDisk other;
  FakeProblem again;
  (void)Conduct(other, again, Kind::kRound, Options(5));
  EXPECT_GT(again.batches, 1);
}

TEST(Study, TriesSeedsAfterTheAnchorsAndCopiesWhatIsKnown) {
  const Assignment seed = {1, 0, 0};
  const Assignment known = {2, 2, 0};
  StudyOptions options = Options(8);
  options.seeds = {{"from:1", seed}, {"from:2", known}};
  options.known[known] = {{{"cost", 0.5}, {"error", 1}}, std::nullopt, "{}"};
  options.known[{3, 3, 3}] = {{{"cost", 7}, {"error", 8}}, std::nullopt, "{}"};
  const auto conduct = [&](SimDisk& disk, FakeProblem& problem) {
    AgentSetup setup = SetupFor(problem, 7);
    setup.first_trial += options.seeds.size();
    RoundAgent agent(setup);
    Journal journal(std::make_unique<SimFile>(disk));
    StudyResult result = RunStudy(problem, agent, journal, options);
    EXPECT_EQ(agent.heard.at(3).assignment, known);
    return result;
  };
  SimDisk disk;
  FakeProblem problem;
  const StudyResult result = conduct(disk, problem);
  ASSERT_EQ(result.trials.size(), 8U);
  EXPECT_EQ(result.trials[1].source, "anchor:all");
  EXPECT_EQ(result.trials[1].evaluation.metrics.at("cost"), 7);
  EXPECT_EQ(result.trials[2].source, "from:1");
  EXPECT_EQ(result.trials[2].evaluation, FakeProblem::Truth(seed));
  EXPECT_EQ(result.trials[3].evaluation, options.known[known]);
  EXPECT_EQ(result.best, 3U);
  EXPECT_EQ(result.trials[4].source, "fake");
  EXPECT_FALSE(problem.tried.contains(known));
  EXPECT_FALSE(problem.tried.contains({3, 3, 3}));
  // Resumed it is the same study, and tries nothing.
  FakeProblem again;
  EXPECT_EQ(conduct(disk, again).trials, result.trials);
  EXPECT_TRUE(again.tried.empty());
}

TEST(Study, StopsInsideTheAnchorsWhenFewerTrialsAreWanted) {
  SimDisk disk;
  FakeProblem problem;
  EXPECT_EQ(Conduct(disk, problem, Kind::kFree, Options(1)).trials.size(), 1U);
}

TEST(Study, FindsTheBestFeasibleTrial) {
  SimDisk disk;
  FakeProblem problem;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(400));
  // By hand: the sum is at most 5 (25 + a / 2 <= 30); cost is least without a share of b.
  ASSERT_TRUE(result.best);
  const Trial& best = result.trials[*result.best];
  EXPECT_EQ(best.evaluation.metrics.at("cost"), 5.0);
  EXPECT_EQ(best.assignment[1], 0);
}

TEST(Study, HasNoBestWhenNothingIsFeasible) {
  SimDisk disk;
  FakeProblem problem;
  StudyOptions options = Options(10);
  options.objective.subject_to = {{"error", -1}};
  EXPECT_FALSE(Conduct(disk, problem, Kind::kFree, options).best);
}

TEST(Study, TakesTheParetoSetOverAllObjectives) {
  SimDisk disk;
  FakeProblem problem;
  StudyOptions options = Options(300);
  options.objective.minimize = {"cost", "error"};
  const auto agent = std::make_unique<FreeAgent>([&] {
    AgentSetup setup = SetupFor(problem, 7);
    setup.objectives = 2;
    return setup;
  }());
  Journal journal(std::make_unique<SimFile>(disk));
  const StudyResult result = RunStudy(problem, *agent, journal, options);
  ASSERT_GT(result.pareto.size(), 3U);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    const auto& a = result.trials[result.pareto[i - 1]].evaluation.metrics;
    const auto& b = result.trials[result.pareto[i]].evaluation.metrics;
    EXPECT_LT(a.at("cost"), b.at("cost"));
    EXPECT_GT(a.at("error"), b.at("error"));
  }
}

TEST(Study, EvaluatesEachAssignmentOnceAndCopiesTheRest) {
  SimDisk disk;
  FakeProblem problem;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(500));
  for (const auto& [assignment, times] : problem.tried) EXPECT_EQ(times, 1);
  std::map<Assignment, bool> seen;
  for (const auto& trial : result.trials) {
    EXPECT_EQ(trial.repeated, seen.contains(trial.assignment)) << trial.number;
    EXPECT_EQ(trial.evaluation, FakeProblem::Truth(trial.assignment));
    seen[trial.assignment] = true;
  }
}

TEST(Study, EndsWhenTheAgentHasNothingLeft) {
  SimDisk disk;
  FakeProblem problem;
  FreeAgent agent(SetupFor(problem, 7));
  agent.limit = 30;
  Journal journal(std::make_unique<SimFile>(disk));
  const StudyResult result = RunStudy(problem, agent, journal, Options(1000));
  EXPECT_EQ(result.trials.size(), 30U);
  EXPECT_EQ(result.stop, StopReason::kExhausted);
}

TEST(Study, TellsARoundAgentEverythingInOrder) {
  SimDisk disk;
  FakeProblem problem;
  problem.shuffle_seed = 3;
  RoundAgent agent(SetupFor(problem, 7));
  Journal journal(std::make_unique<SimFile>(disk));
  const StudyResult result = RunStudy(problem, agent, journal, Options(22));
  ASSERT_EQ(agent.heard.size(), 22U);
  for (std::size_t i = 0; i < agent.heard.size(); ++i) {
    const Trial& trial = result.trials[i];
    EXPECT_EQ(agent.heard[i].trial, i);
    EXPECT_EQ(agent.heard[i].assignment, trial.assignment);
    EXPECT_EQ(agent.heard[i].failed, trial.evaluation.failure.has_value());
  }
}

TEST(Study, PutsEachTrialOnDiskBeforeReportingIt) {
  SimDisk disk;
  FakeProblem problem;
  FreeAgent agent(SetupFor(problem, 7));
  Journal journal(std::make_unique<SimFile>(disk));
  const auto progress = [&](const Progress& now) {
    const JournalScan scan = ScanJournal(disk.durable);
    EXPECT_EQ(scan.records.size(), now.done + 2);  // and "study", "start"
  };
  (void)RunStudy(problem, agent, journal, Options(20), progress);
}

TEST(Study, ReportsHowFarItIs) {
  SimDisk disk;
  FakeProblem problem;
  FreeAgent agent(SetupFor(problem, 7));
  Journal journal(std::make_unique<SimFile>(disk));
  std::vector<std::uint64_t> done;
  std::uint64_t failed = 0;
  int told_how_long = 0;
  const auto progress = [&](const Progress& now) {
    done.push_back(now.done);
    failed = now.failed;
    EXPECT_EQ(now.total, 40U);
    EXPECT_EQ(now.last == nullptr, now.done == 0);
    // One trial tells nothing, nor do trials of microseconds while another program has the core: a
    // pause makes the next ones look as if they had run with the one before.
    const bool told = now.left.count() > 0;
    EXPECT_FALSE(told && (now.done <= 1 || now.done == 40));
    told_how_long += told ? 1 : 0;
  };
  const StudyResult result = RunStudy(problem, agent, journal, Options(40), progress);
  ASSERT_EQ(done.size(), 41U);
  EXPECT_GT(told_how_long, 0);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i);
  EXPECT_EQ(failed, static_cast<std::uint64_t>(std::count_if(
                        result.trials.begin(), result.trials.end(),
                        [](const auto& t) { return t.evaluation.failure.has_value(); })));
  EXPECT_GT(failed, 0U);
}

TEST(Study, ReportsNoMoreTimeThanItsBudgetLeaves) {
  SimDisk disk;
  FakeProblem problem;
  FreeAgent agent(SetupFor(problem, 7));
  Journal journal(std::make_unique<SimFile>(disk));
  StudyOptions options = Options(std::uint64_t{1} << 50U);
  const TimeBudget budget(100);
  options.time = &budget;
  double longest = 0;
  int calls = 0;
  const auto progress = [&](const Progress& now) {
    ++calls;
    longest = std::max(longest, now.left.count());
    EXPECT_LE(now.left.count(), 100);
  };
  (void)RunStudy(problem, agent, journal, options, progress, [&] { return calls > 20; });
  EXPECT_GT(longest, 0);
}

TEST(Study, StopsAtTheTimeBudgetWithWhatItHas) {
  class Slow final : public SearchProblem {
   public:
    const std::vector<Decision> decisions_ = {{"a", {"0", "1"}}};

   private:
    const std::vector<Decision>& DoDecisions() const override { return decisions_; }
    std::vector<std::string> DoMetrics() const override { return {"cost"}; }
    std::string DoDescribe(const Assignment&) const override { return "{}"; }
    std::string DoHash() const override { return "slow"; }
    void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                    const std::function<bool()>& stop) override {
      done(0, {{{"cost", 1}}, {}, ""});
      while (batch.size() > 1 && !stop()) std::this_thread::yield();
    }
  };
  class Both final : public Agent {
   public:
    using Agent::Agent;

   private:
    std::vector<Assignment> DoAsk(std::uint64_t, std::size_t) override { return {{0}, {1}}; }
  };
  SimDisk disk;
  Slow problem;
  Both agent(SetupFor(problem, 0, 0));
  Journal journal(std::make_unique<SimFile>(disk));
  StudyOptions options = Options(10);
  options.objective = {{"cost"}, {}};
  const TimeBudget budget(0.005);
  options.time = &budget;
  const StudyResult result = RunStudy(problem, agent, journal, options);
  EXPECT_EQ(result.stop, StopReason::kTime);
  EXPECT_EQ(result.trials.size(), 1U);
  EXPECT_EQ(ReadStudy(RecordsOf(disk)).stop, StopReason::kTime);
}

TEST(Study, ParallelAndShuffledIsTheSameAsSerial) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk serial_disk;
    FakeProblem serial;
    const StudyResult expected = Conduct(serial_disk, serial, kind, Options(120));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SimDisk disk;
      FakeProblem problem;
      problem.workers = 1 + seed % 7;
      problem.shuffle_seed = seed;
      const StudyResult result = Conduct(disk, problem, kind, Options(120));
      EXPECT_EQ(Timeless(result.trials), Timeless(expected.trials)) << "seed " << seed;
      EXPECT_EQ(result.best, expected.best);
      EXPECT_EQ(result.pareto, expected.pareto);
    }
  }
}

TEST(Study, RefusesAnObjectiveThatTheProblemDoesNotMeasure) {
  SimDisk disk;
  FakeProblem problem;
  StudyOptions options = Options(5);
  options.objective.minimize = {"latency"};
  EXPECT_EQ(ErrorOf([&] { (void)Conduct(disk, problem, Kind::kFree, options); }),
            "the objective names 'latency'; metrics of this problem: cost, error");
  EXPECT_TRUE(disk.written.empty());
}

TEST(CheckObjective, RefusesWhatNoStudyCanMean) {
  EXPECT_EQ(ErrorOf([] {
              CheckObjective({{"cost", "error", "cost"}, {}});
            }),
            "the objective minimizes 'cost' twice");
  EXPECT_EQ(ErrorOf([] {
              CheckObjective({{}, {}});
            }),
            "the objective must name a metric to minimize");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ErrorOf([&] {
              CheckObjective({{"cost"}, {{"error", infinity}}});
            }),
            "the limit of 'error' must be a finite number, not inf");
}

TEST(Study, EndsAtAPlateauAfterTheSameTrialHoweverManyRun) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk without_disk;
    FakeProblem without;
    const StudyResult all = Conduct(without_disk, without, kind, Options(400));
    StudyOptions options = Options(400);
    options.stop.plateau = 40;
    SimDisk serial_disk;
    FakeProblem serial;
    const StudyResult expected = Conduct(serial_disk, serial, kind, options);
    EXPECT_EQ(expected.stop, StopReason::kPlateau);
    EXPECT_EQ(ReadStudy(RecordsOf(serial_disk)).stop, StopReason::kPlateau);
    ASSERT_TRUE(expected.best);
    ASSERT_LT(expected.trials.size(), 400U);
    EXPECT_GE(expected.trials.size() - *expected.best - 1, 40U);
    for (std::size_t i = 0; i < expected.trials.size(); ++i) {
      EXPECT_EQ(expected.trials[i].assignment, all.trials[i].assignment) << "a rule changed trials";
    }
    SimDisk disk;
    FakeProblem problem;
    problem.workers = 5;
    problem.shuffle_seed = 3;
    EXPECT_EQ(Timeless(Conduct(disk, problem, kind, options).trials), Timeless(expected.trials));
    // Resumed with the rule it has nothing to do; without, it goes on.
    problem.tried.clear();
    EXPECT_EQ(Conduct(disk, problem, kind, options).stop, StopReason::kPlateau);
    EXPECT_TRUE(problem.tried.empty());
    EXPECT_EQ(Timeless(Conduct(disk, problem, kind, Options(400)).trials), Timeless(all.trials));
  }
}

TEST(Study, EndsWhereTheGoalIsReached) {
  SimDisk disk;
  FakeProblem problem;
  StudyOptions options = Options(400);
  options.stop.goal = {{"cost", 6.5}};
  const StudyResult result = Conduct(disk, problem, Kind::kRound, options);
  EXPECT_EQ(result.stop, StopReason::kGoal);
  EXPECT_EQ(ReadStudy(RecordsOf(disk)).stop, StopReason::kGoal);
  ASSERT_LT(result.trials.size(), 400U);
  // The second baseline has cost 1.75, but misses the limit.
  EXPECT_GT(result.trials.size(), 2U);
  std::size_t met = 0;
  for (std::size_t i = 0; i + 5 < result.trials.size(); ++i) {  // before the last round of five
    const Trial& trial = result.trials[i];
    if (!IsFeasible(options.objective, trial)) continue;
    met += trial.evaluation.metrics.at("cost") <= 6.5 ? 1 : 0;
  }
  EXPECT_EQ(met, 0U) << "it went on after the goal was reached";
  EXPECT_LE(result.trials[*result.best].evaluation.metrics.at("cost"), 6.5);
}

TEST(Study, RefusesAGoalThatTheProblemDoesNotMeasure) {
  SimDisk disk;
  FakeProblem problem;
  StudyOptions options = Options(5);
  options.stop.goal = {{"latency", 1}};
  EXPECT_EQ(ErrorOf([&] { (void)Conduct(disk, problem, Kind::kFree, options); }),
            "the goal to stop at names 'latency'; metrics of this problem: cost, error");
  EXPECT_TRUE(disk.written.empty());
}

TEST(Study, InterruptedHasNoEndInItsJournal) {
  SimDisk disk;
  FakeProblem problem;
  int polls = 0;
  const StudyResult result =
      Conduct(disk, problem, Kind::kFree, Options(60), [&] { return ++polls > 9; });
  EXPECT_EQ(result.stop, StopReason::kInterrupted);
  EXPECT_EQ(ReadStudy(RecordsOf(disk)).stop, StopReason::kInterrupted);
}

}  // namespace
}  // namespace msc::gym
