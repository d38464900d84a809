#include "gym/study/study.h"

#include <limits>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/study/scan.h"
#include "tests/gym/study/fake_problem.h"
#include "tests/gym/study/sim_file.h"
#include "tests/support/seeds.h"

namespace msc::gym {
namespace {

using testing::FakeProblem;
using testing::FreeAgent;
using testing::RoundAgent;
using testing::SetupFor;
using testing::SimDisk;
using testing::SimFile;

StudyOptions Options(std::uint64_t trials) {
  StudyOptions options;
  options.seed = 7;
  options.trials = trials;
  options.agent = "fake";
  options.objective = {{"cost"}, {{"error", 30}}};
  options.tool_version = "1.0";
  return options;
}

enum class Kind { kFree, kRound };

std::unique_ptr<Agent> MakeAgent(Kind kind, const SearchProblem& problem, std::uint64_t seed = 7) {
  if (kind == Kind::kFree) return std::make_unique<FreeAgent>(SetupFor(problem, seed));
  return std::make_unique<RoundAgent>(SetupFor(problem, seed));
}

StudyResult Conduct(SimDisk& disk, FakeProblem& problem, Kind kind, const StudyOptions& options,
                    const std::function<bool()>& stop = {}) {
  Journal journal(std::make_unique<SimFile>(disk));
  const auto agent = MakeAgent(kind, problem, options.seed);
  return RunStudy(problem, *agent, journal, options, {}, stop);
}

/// Times differ between runs; nothing else may.
std::vector<Trial> Timeless(std::vector<Trial> trials) {
  for (auto& trial : trials) trial.seconds = trial.finished = 0;
  return trials;
}

template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> RecordsOf(const SimDisk& disk) {
  const JournalScan scan = ScanJournal(disk.written);
  return {scan.records.begin(), scan.records.end()};
}

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
  const auto progress = [&](const Progress& now) {
    done.push_back(now.done);
    failed = now.failed;
    EXPECT_EQ(now.total, 40U);
    EXPECT_EQ(now.last == nullptr, now.done == 0);
    EXPECT_EQ(now.left.count() > 0, now.done > 0 && now.done < 40);
  };
  const StudyResult result = RunStudy(problem, agent, journal, Options(40), progress);
  ASSERT_EQ(done.size(), 41U);
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
  options.time_budget = std::chrono::seconds{100};
  double longest = 0;
  int calls = 0;
  const auto progress = [&](const Progress& now) {
    ++calls;
    longest = std::max(longest, now.left.count());
    EXPECT_LE(now.left.count(), std::max(0.0, 100 - now.elapsed.count()));
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
  options.time_budget = std::chrono::milliseconds{5};
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

TEST(Study, InterruptedAnywhereAndResumedIsTheUninterruptedRun) {
  constexpr std::uint64_t kTrials = 60;
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk whole_disk;
    FakeProblem whole;
    const StudyResult expected = Conduct(whole_disk, whole, kind, Options(kTrials));
    for (int at = 0; at < 70; at += static_cast<int>(Stride())) {
      SimDisk disk;
      FakeProblem problem;
      problem.workers = 3;
      problem.shuffle_seed = static_cast<std::uint64_t>(at) + 1;
      int polls = 0;
      (void)Conduct(disk, problem, kind, Options(kTrials), [&] { return ++polls > at; });
      const StudyResult result = Conduct(disk, problem, kind, Options(kTrials));
      ASSERT_EQ(Timeless(result.trials), Timeless(expected.trials)) << "after " << at << " polls";
      for (const auto& [assignment, times] : problem.tried) ASSERT_EQ(times, 1) << at;
    }
  }
}

TEST(Study, CutAtEveryRecordOfItsJournalAndResumedIsTheUninterruptedRun) {
  constexpr std::uint64_t kTrials = 40;
  SimDisk whole;
  FakeProblem problem;
  problem.shuffle_seed = 5;
  const StudyResult expected = Conduct(whole, problem, Kind::kRound, Options(kTrials));
  std::size_t cut = 0;
  while (cut < whole.written.size()) {
    // In the middle of the record that starts here: a torn tail as well.
    SimDisk disk;
    disk.written = whole.written.substr(0, cut + 10);
    disk.durable = disk.written;
    const StudyResult result = Conduct(disk, problem, Kind::kRound, Options(kTrials));
    ASSERT_EQ(Timeless(result.trials), Timeless(expected.trials)) << "cut at " << cut;
    cut = whole.written.find('\n', cut) + 1;
  }
}

TEST(Study, WithMoreTrialsLaterIsTheStudyThatHadThemFromTheStart) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk whole_disk;
    FakeProblem whole;
    const StudyResult expected = Conduct(whole_disk, whole, kind, Options(50));
    for (const std::uint64_t first : {1U, 2U, 3U, 17U, 33U, 50U}) {
      SimDisk disk;
      FakeProblem problem;
      (void)Conduct(disk, problem, kind, Options(first));
      const StudyResult result = Conduct(disk, problem, kind, Options(50));
      EXPECT_EQ(Timeless(result.trials), Timeless(expected.trials)) << "first " << first;
    }
  }
}

TEST(Study, ThatAlreadyHasMoreTrialsRunsNone) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(30));
  problem.tried.clear();
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(10));
  EXPECT_EQ(result.trials.size(), 30U);
  EXPECT_TRUE(problem.tried.empty());
}

TEST(Study, AfterAFullDiskResumesWithoutLosingAcknowledgedTrials) {
  SimDisk whole_disk;
  FakeProblem whole;
  const StudyResult expected = Conduct(whole_disk, whole, Kind::kRound, Options(20));
  for (int fail_at = 1; fail_at <= 30; ++fail_at) {
    SimDisk disk;
    disk.fail_at = fail_at;
    disk.stays = true;
    disk.partial = static_cast<std::size_t>(fail_at);
    FakeProblem problem;
    EXPECT_THROW((void)Conduct(disk, problem, Kind::kRound, Options(20)), SystemError);
    disk.fail_at = 0;
    const StudyResult result = Conduct(disk, problem, Kind::kRound, Options(20));
    ASSERT_EQ(Timeless(result.trials), Timeless(expected.trials)) << "failure at " << fail_at;
  }
}

struct Mismatch {
  std::string label;
  std::function<void(StudyOptions&, FakeProblem&)> change;
  std::string text;
};
void PrintTo(const Mismatch& mismatch, std::ostream* out) {
  *out << mismatch.label;
}

class Resumed : public ::testing::TestWithParam<Mismatch> {};

TEST_P(Resumed, RefusesAJournalOfAnotherStudyNamingWhatDiffers) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(5));
  StudyOptions options = Options(5);
  GetParam().change(options, problem);
  const std::string before = disk.written;
  EXPECT_EQ(ErrorOf([&] { (void)Conduct(disk, problem, Kind::kFree, options); }),
            "the journal belongs to another study, it differs in " + GetParam().text +
                "; start a new run directory or force the resume");
  EXPECT_EQ(disk.written, before);
}

INSTANTIATE_TEST_SUITE_P(
    Study, Resumed,
    ::testing::Values(
        Mismatch{"seed", [](auto& o, auto&) { o.seed = 8; }, "seed (journal: 7, now: 8)"},
        Mismatch{"agent", [](auto& o, auto&) { o.agent = "grid"; },
                 "agent (journal: \"fake\", now: \"grid\")"},
        Mismatch{"problem", [](auto&, auto& p) { p.hash = "fake-2"; },
                 "problem (journal: \"fake-1\", now: \"fake-2\")"},
        Mismatch{"version", [](auto& o, auto&) { o.tool_version = "1.1"; },
                 "tool_version (journal: \"1.0\", now: \"1.1\")"},
        Mismatch{"machine", [](auto& o, auto&) { o.machine = "m"; },
                 "machine (journal: \"\", now: \"m\")"},
        Mismatch{"objective", [](auto& o, auto&) { o.objective.subject_to.clear(); },
                 "objective (journal: {\"minimize\":[\"cost\"],\"subject_to\":[{\"limit\":30.0,"
                 "\"metric\":\"error\"}]}, now: {\"minimize\":[\"cost\"],\"subject_to\":[]})"}),
    [](const auto& one) { return one.param.label; });

TEST(Study, RefusesAJournalWhoseTrialsTheAgentWouldNotPropose) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(5));
  EXPECT_EQ(ErrorOf([&] { (void)Conduct(disk, problem, Kind::kRound, Options(5)); }),
            "trial 2 of the journal is not what 'fake' proposes for it now; start a new run "
            "directory or force the resume");
}

TEST(Study, TakesAJournalOfAnotherStudyWhenForced) {
  SimDisk disk;
  FakeProblem problem;
  const StudyResult first = Conduct(disk, problem, Kind::kFree, Options(5));
  StudyOptions options = Options(9);
  options.seed = 8;
  options.resume = Resume::kForced;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, options);
  ASSERT_EQ(result.trials.size(), 9U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.trials[i], first.trials[i]);
}

TEST(Study, GoesByTheAssignmentsOfTheJournalWhenForced) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk disk;
    FakeProblem problem;
    (void)Conduct(disk, problem, kind, Options(40));
    StudyOptions options = Options(120);
    options.seed = 8;  // other wishes for the trials that there are, too
    options.resume = Resume::kForced;
    const StudyResult result = Conduct(disk, problem, kind, options);
    ASSERT_EQ(result.trials.size(), 120U);
    for (const Trial& trial : result.trials) {
      EXPECT_EQ(trial.evaluation, FakeProblem::Truth(trial.assignment)) << trial.number;
    }
    for (const auto& [assignment, times] : problem.tried) EXPECT_EQ(times, 1);
  }
}

TEST(Study, CopiesALaterTrialOfTheJournalWhenForced) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(60));
  // Trial 5 is missing, and what it is now was tried as a later one.
  const std::vector<std::string> records = RecordsOf(disk);
  SimDisk gap;
  {
    Journal journal(std::make_unique<SimFile>(gap));
    for (const std::string& text : records) {
      nlohmann::json record = ParseJson(text, "a record");
      record.erase("seq");
      if (record["type"] == "trial" && record["trial"] == 5) continue;
      journal.Append(record.dump());
    }
  }
  StudyOptions options = Options(60);
  options.resume = Resume::kForced;
  FreeAgent agent(SetupFor(problem, 8));
  const Assignment wish = agent.Ask(5, 1).front();
  ASSERT_TRUE(problem.tried.contains(wish)) << "choose another seed";
  options.seed = 8;
  FakeProblem again;
  const StudyResult result = Conduct(gap, again, Kind::kFree, options);
  EXPECT_EQ(result.trials.at(5).assignment, wish);
  EXPECT_TRUE(result.trials.at(5).repeated);
  EXPECT_EQ(result.trials.at(5).evaluation, FakeProblem::Truth(wish));
  EXPECT_TRUE(again.tried.empty());
}

TEST(Study, TakesNoJournalOfOtherDecisionsEvenWhenForced) {
  for (const auto& [assignment, why] : std::map<std::string, std::string>{
           {"[0,0]", "an assignment of 2 choices does not fit 3 decisions"},
           {"[0,4,0]", "choice 4 of decision 'b' must be between 0 and 3"}}) {
    SimDisk disk;
    FakeProblem problem;
    (void)Conduct(disk, problem, Kind::kFree, Options(1));
    {
      Journal journal(std::make_unique<SimFile>(disk));
      journal.Append(R"({"type":"trial","trial":1,"source":"fake","assignment":)" + assignment +
                     R"(,"metrics":{"cost":1,"error":1}})");
    }
    const std::string before = disk.written;
    StudyOptions options = Options(9);
    options.resume = Resume::kForced;
    EXPECT_EQ(ErrorOf([&] { (void)Conduct(disk, problem, Kind::kFree, options); }),
              "the journal's trials are of other decisions (trial 1: " + why +
                  "); start a new run directory");
    EXPECT_EQ(disk.written, before);
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

TEST(Study, ReadsBackFromItsJournalAsItEnded) {
  SimDisk disk;
  FakeProblem problem;
  problem.shuffle_seed = 9;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(60));
  const StudyResult read = ReadStudy(RecordsOf(disk));
  EXPECT_EQ(read.trials, result.trials);
  EXPECT_EQ(read.best, result.best);
  EXPECT_EQ(read.pareto, result.pareto);
  EXPECT_EQ(read.stop, StopReason::kTrials);
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
    if (!Feasible(options.objective, trial)) continue;
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

TEST(Study, InterruptedHasNoEndInItsJournal) {
  SimDisk disk;
  FakeProblem problem;
  int polls = 0;
  const StudyResult result =
      Conduct(disk, problem, Kind::kFree, Options(60), [&] { return ++polls > 9; });
  EXPECT_EQ(result.stop, StopReason::kInterrupted);
  EXPECT_EQ(ReadStudy(RecordsOf(disk)).stop, StopReason::kInterrupted);
}

TEST(Trial, RoundTripsThroughJson) {
  Trial trial;
  trial.number = 18446744073709551615U;
  trial.source = "anchor:a \"quoted\"\nname";
  trial.assignment = {0, 2147483647, 3};
  trial.seconds = 0.1;
  trial.repeated = true;
  trial.finished = 1764000000.125;
  trial.evaluation.metrics = {{"a", 1e-300}, {"b", -0.1}, {"c", 1.7976931348623157e308}};
  const std::string nested = "{\"x\":" + std::string(40, '[') + std::string(40, ']') + "}";
  for (const std::string record :
       {"", "{\"x\":[1,2.5]}", "{ \"spaced\": 1 }", "text", "[1]", "\"s\"", nested.c_str()}) {
    trial.evaluation.record = record;
    EXPECT_EQ(TrialFromJson(ToJson(trial), "record"), trial) << record;
  }
  trial.evaluation = {{}, Failure{FailureKind::kTimeout, "after 30 s"}, ""};
  EXPECT_EQ(TrialFromJson(ToJson(trial), "record"), trial);
}

/// What earlier versions of this program wrote, without the sequence numbers.
std::vector<std::string> Earlier(std::int64_t format, const std::string& trial) {
  return {R"({"agent":"fake","format":)" + std::to_string(format) +
              R"(,"machine":"m","objective":{"minimize":["cost"],"subject_to":[{"limit":30.0,)"
              R"("metric":"error"}]},"problem":"fake-1","seed":7,"tool_version":"1.0",)"
              R"("type":"study"})",
          R"({"pid":1,"trials":2,"type":"start"})",
          R"({"assignment":[0,0,0],"metrics":{"cost":10.0,"error":0.0},"record":{"sum":0},)"
          R"("repeated":false,"seconds":0.5,"source":"anchor:plain","trial":0,"type":"trial"})",
          trial,
          R"({"type":"tick"})",
          R"({"reason":"trials","type":"end"})"};
}

StudyResult ReadJournalOf(const std::vector<std::string>& texts) {
  SimDisk disk;
  for (std::size_t i = 0; i < texts.size(); ++i) disk.written += JournalLine(i, texts[i]);
  disk.durable = disk.written;
  const Journal journal(std::make_unique<SimFile>(disk));
  EXPECT_EQ(journal.records().size(), texts.size());
  return ReadStudy(journal.records());
}

TEST(Study, ReadsAJournalOfFormat1) {
  const StudyResult result = ReadJournalOf(
      Earlier(1, R"({"assignment":[0,0,3],"failure":{"detail":"0 before 3","kind":"unsupported"},)"
                 R"("metrics":{},"repeated":false,"seconds":0.25,"source":"fake","trial":1,)"
                 R"("type":"trial"})"));
  ASSERT_EQ(result.trials.size(), 2U);
  EXPECT_EQ(result.best, 0U);
  EXPECT_EQ(result.stop, StopReason::kTrials);
  EXPECT_EQ(result.trials[0].seconds, 0.5);
  EXPECT_EQ(result.trials[0].finished, 0);
  EXPECT_EQ(result.trials[1].evaluation.failure->detail, "0 before 3");
}

TEST(Study, ReadsARaceOfAJournalOfFormat2) {
  const StudyResult result = ReadJournalOf(
      Earlier(2, R"({"assignment":[1,0,0],"dropped":true,"metrics":{"cost":9.0,"error":1.5},)"
                 R"("repeated":false,"rough":{"cost":9.0,"error":1.5},"seconds":0.25,)"
                 R"("source":"fake","trial":1,"type":"trial"})"));
  ASSERT_EQ(result.trials.size(), 2U);
  const Evaluation& dropped = result.trials[1].evaluation;
  EXPECT_TRUE(dropped.dropped);
  EXPECT_EQ(dropped.rungs,
            (std::vector<std::map<std::string, double>>{{{"cost", 9}, {"error", 1.5}}}));
  EXPECT_EQ(result.best, 0U);
}

struct BadTrial {
  std::string label;
  std::string text;
  std::string error;
};
void PrintTo(const BadTrial& bad, std::ostream* out) {
  *out << bad.label;
}
class BadTrials : public ::testing::TestWithParam<BadTrial> {};

TEST_P(BadTrials, AreRefusedNamingTheKey) {
  EXPECT_EQ(ErrorOf([&] { (void)TrialFromJson(GetParam().text, "record 4"); }), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Trial, BadTrials,
    ::testing::Values(
        BadTrial{"no_json", "{", "record 4 is not valid JSON at byte 2"},
        BadTrial{"list", "[]", "record 4 is not an object"},
        BadTrial{"no_trial", R"({"type":"trial"})", "record 4 has no 'trial'"},
        BadTrial{"negative",
                 R"({"type":"trial","trial":-1,"source":"","assignment":[],"metrics":{}})",
                 "record 4: 'trial' must be an integer that fits, not -1"},
        BadTrial{"failure",
                 R"({"type":"trial","trial":1,"source":"","assignment":[],"metrics":{},)"
                 R"("failure":{"kind":"odd","detail":""}})",
                 "record 4: unknown failure 'odd'"},
        BadTrial{"unknown_key",
                 R"({"type":"trial","trial":1,"source":"","assignment":[],"metrics":{},"x":1})",
                 "record 4: unknown key 'x'; known here: seq, type, trial, source, assignment, "
                 "metrics, failure, seconds, repeated, rungs, dropped, finished"}),
    [](const auto& one) { return one.param.label; });

TEST(Study, RefusesAJournalOfALaterFormat) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(2));
  std::vector<std::string> records = RecordsOf(disk);
  const std::size_t at = records[0].find("\"format\":3");
  ASSERT_NE(at, std::string::npos);
  records[0].replace(at, 10, "\"format\":4");
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }),
            "the journal's header was written by a newer mscgym: its format is 4, known here is 3");
  records[0].replace(at, 10, "\"format\":-7");
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }),
            "the journal's header: 'format' must be at least 1, not -7");
}

struct BadRecord {
  std::string label;
  std::string text;  ///< comes after a good study
  std::string error;
};
void PrintTo(const BadRecord& bad, std::ostream* out) {
  *out << bad.label;
}
class BadRecords : public ::testing::TestWithParam<BadRecord> {};

TEST_P(BadRecords, AreRefusedByTheirNumber) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(2));
  std::vector<std::string> records = RecordsOf(disk);
  ASSERT_EQ(records.size(), 5U);  // study, start, two trials, end
  records.push_back(GetParam().text == "study" ? records.front() : GetParam().text);
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }), "journal record 5" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Study, BadRecords,
    ::testing::Values(
        BadRecord{"list", "[]", " is not an object"},
        BadRecord{"no_type", R"({"seq":5})", " has no 'type'"},
        BadRecord{"odd_type", R"({"type":[5]})",
                  " is of the type [5], which is unknown here; a newer mscgym may have written it"},
        BadRecord{"new_type", R"({"type":"note"})",
                  " is of the type \"note\", which is unknown here; a newer mscgym may have "
                  "written it"},
        BadRecord{"second_header", "study", " begins a second study"},
        BadRecord{"no_reason", R"({"type":"end"})", " has no 'reason'"},
        BadRecord{"odd_reason", R"({"type":"end","reason":5})", ": unknown reason 5"},
        BadRecord{"seconds",
                  R"({"type":"trial","trial":2,"source":"","assignment":[0,0,0],"metrics":{},)"
                  R"("seconds":-5})",
                  ": 'seconds' must be between 0 and 1000000000, not -5"}),
    [](const auto& one) { return one.param.label; });

TEST(TrialsOf, RefusesANumberThatOccursTwice) {
  Trial trial;
  trial.number = 3;
  const std::vector<std::string> records{ToJson(trial), ToJson(trial)};
  EXPECT_EQ(ErrorOf([&] { (void)TrialsOf(records); }), "the journal has trial 3 twice");
}

}  // namespace
}  // namespace msc::gym
