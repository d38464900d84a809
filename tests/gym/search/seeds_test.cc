#include "gym/search/seeds.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/study/journal.h"
#include "tests/gym/core/fake_env.h"
#include "tests/gym/study/fake_problem.h"

namespace msc::gym {
namespace {

using testing::FakeProblem;

Trial Tried(std::uint64_t number, const Assignment& assignment) {
  Trial trial;
  trial.number = number;
  trial.assignment = assignment;
  trial.evaluation = FakeProblem::Truth(assignment);
  return trial;
}

SearchSetup MadeSetup() {
  SearchSetup setup{.decisions = FakeProblem().decisions()};
  setup.config.objective = {.minimize = {"cost"}, .subject_to = {{"error", 30}}};
  setup.config.trials = 4;
  setup.model_hash = "a model";
  setup.machine.cpu = "a CPU";
  setup.machine.libraries = {{"mscgym", "1"}};
  return setup;
}

/// One trial is an anchor of the problem, one failed, one occurs twice.
EarlierSearch Earlier() {
  EarlierSearch earlier;
  earlier.header.problem = FakeProblem().Hash();
  earlier.setup = MadeSetup();
  earlier.trials = {Tried(0, {0, 0, 0}), Tried(1, {0, 0, 3}), Tried(2, {2, 2, 2}),
                    Tried(3, {1, 0, 0}), Tried(4, {2, 1, 0}), Tried(5, {2, 1, 0})};
  return earlier;
}

using Named = std::vector<std::pair<std::string, Assignment>>;

TEST(SeedsFrom, TheSameSearchAreAllKnown) {
  const FakeProblem problem;
  const Seeds seeds = SeedsFrom(Earlier(), MadeSetup(), problem);
  EXPECT_EQ(seeds.trials,
            (Named{{"from:4", {2, 1, 0}}, {"from:3", {1, 0, 0}}, {"from:2", {2, 2, 2}}}));
  ASSERT_EQ(seeds.known.size(), 4U);
  EXPECT_EQ(seeds.known.at({0, 0, 0}), FakeProblem::Truth({0, 0, 0}));
  EXPECT_EQ(seeds.note, "4 of 6 trials fit this search; their results are reused");
}

TEST(SeedsFrom, AnotherSearchAreTheBestOfItUpToHalfOfTheTrials) {
  const FakeProblem problem;
  SearchSetup now = MadeSetup();
  now.config.quality.samples = 7;
  const Seeds seeds = SeedsFrom(Earlier(), now, problem);
  EXPECT_TRUE(seeds.known.empty());
  EXPECT_EQ(seeds.trials, (Named{{"from:4", {2, 1, 0}}, {"from:3", {1, 0, 0}}}));
  EXPECT_EQ(
      seeds.note,
      "4 of 6 trials fit this search; 2 of them are measured first, because the config differs");
}

TEST(SeedsFrom, SearchesThatDifferInWhatIsMeasuredAreMeasuredAgain) {
  const FakeProblem problem;
  const auto note = [&](const std::function<void(EarlierSearch&)>& change) {
    EarlierSearch earlier = Earlier();
    change(earlier);
    return SeedsFrom(earlier, MadeSetup(), problem).note;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(note([](EarlierSearch& e) { e.header.problem = "other"; }),
                  "because the model or the decisions differ"));
  EXPECT_TRUE(has(note([](EarlierSearch& e) { e.setup.machine.cpu = "other"; }),
                  "because the CPU differs"));
  EXPECT_TRUE(has(note([](EarlierSearch& e) { e.setup.machine.libraries["mscgym"] = "2"; }),
                  "because versions differ"));
  EXPECT_TRUE(has(note([](EarlierSearch& e) { e.setup.config.threads = 2; }),
                  "because the config differs"));
  // Who proposed them, how many and in what order makes no difference.
  EXPECT_TRUE(has(note([](EarlierSearch& e) {
                    e.setup.config.agent = "tpe";
                    e.setup.config.seed = 9;
                    e.setup.config.trials = 1;
                    e.setup.config.model = "elsewhere/model.onnx";
                  }),
                  "their results are reused"));
}

TEST(SeedsFrom, DecisionsAreMatchedByName) {
  const FakeProblem problem;
  EarlierSearch earlier = Earlier();
  // In another order, and with a choice that there is not now.
  earlier.setup.decisions = {{"c", {"3", "0"}}, {"a", {"1", "9"}}, {"b", {"0", "2"}}};
  earlier.trials = {Tried(0, {1, 0, 1}), Tried(1, {1, 1, 1}), Tried(2, {1, 0, 3})};
  const Seeds seeds = SeedsFrom(earlier, MadeSetup(), problem);
  EXPECT_EQ(seeds.trials, (Named{{"from:0", {1, 2, 0}}}));
  earlier.setup.decisions.pop_back();
  EXPECT_TRUE(SeedsFrom(earlier, MadeSetup(), problem).trials.empty());
}

class FindSeedsTest : public ::testing::Test {
 protected:
  FindSeedsTest() {
    std::filesystem::remove_all(base_);
    for (const char* name : {"/then", "/now"}) MakeFolders(base_ + name);
    Journal journal(RunPaths{base_ + "/then"}.journal());
    const EarlierSearch earlier = Earlier();
    journal.Append(ToJson(earlier.header));
    journal.Append(ToRecord(earlier.setup));
    for (const Trial& trial : earlier.trials) journal.Append(ToJson(trial));
  }
  ~FindSeedsTest() override { std::filesystem::remove_all(base_); }

  std::string base_ = ::testing::TempDir() + "/msc_seeds_" + std::to_string(::getpid());
  RunPaths now_{base_ + "/now"};
  FakeProblem problem_;
};

TEST_F(FindSeedsTest, StayAsTheyWereFound) {
  SearchSetup setup = MadeSetup();
  setup.config.from = base_ + "/then";
  const Seeds found = FindSeeds(now_, setup, problem_);
  EXPECT_EQ(found.trials.size(), 3U);
  EXPECT_EQ(found.note,
            "'" + setup.config.from + "': 4 of 6 trials fit this search; their results are reused");
  // Whatever becomes of the earlier run.
  std::filesystem::remove_all(base_ + "/then");
  for (const char* from : {"/then", ""}) {
    setup.config.from = *from == 0 ? "" : base_ + from;
    const Seeds again = FindSeeds(now_, setup, problem_);
    EXPECT_EQ(again.trials, found.trials);
    EXPECT_EQ(again.known, found.known);
    EXPECT_EQ(again.note, found.note);
  }
  setup.config.from = "other";
  EXPECT_EQ(MessageOf<UserError>([&] { (void)FindSeeds(now_, setup, problem_); }),
            "'" + now_.folder + "' holds a search that started from '" + base_ +
                "/then', not from 'other': name that one, or another folder with --out");
}

TEST_F(FindSeedsTest, AreNoneWhereNoRunIsNamedAndNotAddedLater) {
  EXPECT_TRUE(FindSeeds(now_, MadeSetup(), problem_).trials.empty());
  EXPECT_FALSE(std::filesystem::exists(now_.At("seeds.json")));
  WriteFileAtomic(now_.journal(), "something");
  SearchSetup setup = MadeSetup();
  setup.config.from = base_ + "/then";
  EXPECT_EQ(MessageOf<UserError>([&] { (void)FindSeeds(now_, setup, problem_); }),
            "'" + now_.folder + "' holds a search that started from no other: leave out '" +
                setup.config.from + "', or name another folder with --out");
}

}  // namespace
}  // namespace msc::gym
