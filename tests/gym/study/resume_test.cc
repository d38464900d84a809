#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/study/study.h"
#include "tests/gym/study/conduct.h"
#include "tests/support/error_of.h"
#include "tests/support/seeds.h"

namespace msc::gym {
namespace {

using testing::Conduct;
using testing::FakeProblem;
using testing::FreeAgent;
using testing::Kind;
using testing::Options;
using testing::RecordsOf;
using testing::SetupFor;
using testing::SimDisk;
using testing::SimFile;
using testing::Timeless;

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

TEST(Study, MeasuresAgainWhatOthersInterruptedWhenItIsResumed) {
  for (const Kind kind : {Kind::kFree, Kind::kRound}) {
    SimDisk disk;
    FakeProblem problem;
    problem.interrupted = {{0, 0, 0}, {1, 0, 0}, {3, 0, 0}, {0, 2, 0}, {2, 1, 1}, {3, 3, 1}};
    const StudyResult first = Conduct(disk, problem, kind, Options(40));
    ASSERT_EQ(first.trials.size(), 40U);
    std::set<std::uint64_t> lost;
    for (const Trial& trial : first.trials) {
      if (!trial.evaluation.failure) continue;
      if (problem.interrupted.contains(trial.assignment)) {
        EXPECT_EQ(trial.evaluation.failure->kind, FailureKind::kLost);
        lost.insert(trial.number);
      }
      EXPECT_FALSE(trial.late);
    }
    ASSERT_GE(lost.size(), 3U);
    problem.interrupted = {{1, 0, 0}};  // once more
    (void)Conduct(disk, problem, kind, Options(40));
    problem.interrupted.clear();
    const StudyResult resumed = Conduct(disk, problem, kind, Options(60));
    ASSERT_EQ(resumed.trials.size(), 60U);
    for (const Trial& trial : resumed.trials) {
      EXPECT_EQ(trial.evaluation, FakeProblem::Truth(trial.assignment)) << trial.number;
      EXPECT_EQ(trial.late, lost.contains(trial.number)) << trial.number;
      if (trial.number >= 40) continue;
      EXPECT_EQ(trial.assignment, first.trials[trial.number].assignment);
    }
    EXPECT_EQ(ReadStudy(RecordsOf(disk)).trials, resumed.trials);
    problem.tried.clear();
    EXPECT_EQ(Conduct(disk, problem, kind, Options(60)).trials, resumed.trials);
    EXPECT_TRUE(problem.tried.empty());
  }
}

TEST(Study, TellsAnAgentThatNothingIsKnownOfWhatOthersInterrupted) {
  SimDisk disk;
  FakeProblem problem;
  problem.interrupted = {{3, 3, 3}};
  for (const bool again : {false, true}) {
    if (again) problem.interrupted.clear();
    testing::RoundAgent agent(SetupFor(problem, 7));
    Journal journal(std::make_unique<SimFile>(disk));
    const StudyResult result = RunStudy(problem, agent, journal, Options(7));
    EXPECT_EQ(result.trials[1].evaluation.failure.has_value(), !again);
    ASSERT_EQ(agent.heard.size(), 7U);
    EXPECT_FALSE(agent.heard[0].unknown);
    EXPECT_TRUE(agent.heard[1].unknown);
    EXPECT_FALSE(agent.heard[1].failed);
  }
}

TEST(Study, RefusesATrialThatIsTwiceInItsJournal) {
  Trial trial;
  trial.source = "fake";
  trial.assignment = {0, 0, 0};
  trial.evaluation.failure = Failure{FailureKind::kLost, "killed"};
  Trial other = trial;
  const auto read = [&] {
    return ErrorOf<UserError>([&] {
      (void)TrialsOf(std::vector<std::string>{ToJson(trial), ToJson(other)});
    });
  };
  EXPECT_EQ(read(), "the journal has trial 0 twice");
  other.late = true;
  EXPECT_EQ(TrialsOf(std::vector<std::string>{ToJson(trial), ToJson(other)}),
            std::vector<Trial>{other});
  trial.evaluation.failure->kind = FailureKind::kTimeout;
  EXPECT_EQ(read(), "the journal has trial 0 twice");
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

}  // namespace
}  // namespace msc::gym
