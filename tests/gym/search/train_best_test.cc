#include "gym/search/train_best.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

/// Proposes 0, 1, 2, ... for the first decision, in rounds of two, and keeps what it hears.
class CountingAgent final : public Agent {
 public:
  CountingAgent(AgentSetup setup, std::vector<TrialResult>& heard)
      : Agent(std::move(setup)), heard_(heard) {}

 private:
  [[nodiscard]] std::optional<std::size_t> DoRound() const override { return 2; }
  std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    std::vector<Assignment> proposals;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 2 - first % 2); ++i) {
      proposals.push_back({static_cast<std::int32_t>(first + i) % 10, 0});
    }
    return proposals;
  }
  void DoTell(std::span<const TrialResult> results) override {
    heard_.insert(heard_.end(), results.begin(), results.end());
  }

  std::vector<TrialResult>& heard_;
};

AgentSetup TwoDecisions() {
  AgentSetup setup;
  setup.decisions = {{"channels", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
                     {"distill epochs", {"0 epochs", "4 epochs"}}};
  setup.constraints = 1;
  return setup;
}

/// The higher the first choice, the faster and the worse; half of a loss is left by a training.
TrialResult Measure(std::uint64_t trial, const Assignment& at) {
  TrialResult told;
  told.trial = trial;
  told.assignment = at;
  told.seconds = at[1] == 0 ? 1 : 3;
  told.objectives = {10.0 - at[0]};
  told.constraints = {0.25 * at[0] * (at[1] == 0 ? 1 : 0.5) - 1};
  told.violation = std::max(told.constraints[0], 0.0);
  return told;
}

struct Fixture {
  /// Only what has at least the choice `least` is trained.
  explicit Fixture(double share, AgentSetup setup = TwoDecisions(), std::int32_t least = 1)
      : agent(MakeTrainBestAgent(
            std::move(setup),
            {.decision = 1,
             .choice = 1,
             .share = share,
             .losses = {false, true},
             .trains = [least](const Assignment& at) { return at[0] >= least; }},
            [this](AgentSetup own) {
              setups.push_back(own);
              return std::make_unique<CountingAgent>(std::move(own), heard.at(setups.size() - 1));
            })) {}

  /// Makes a round and returns what was proposed.
  std::vector<Assignment> Round() {
    const std::vector<Assignment> proposals = agent->Ask(trial, *agent->round());
    std::vector<TrialResult> results;
    for (const Assignment& at : proposals) {
      results.push_back(Measure(trial++, at));
      if (at[1] != 0) results.back().seconds = seconds;
    }
    agent->Tell(results);
    return proposals;
  }

  double seconds = 3;              ///< of a training
  std::vector<AgentSetup> setups;  ///< of the two agents
  std::array<std::vector<TrialResult>, 2> heard;
  std::unique_ptr<Agent> agent;
  std::uint64_t trial = 0;
};

TEST(TrainBestAgent, TrainsTheFastestThatIsExpectedToKeepTheLimit) {
  Fixture search(0.4);
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{0, 0}, {1, 0}}));
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{2, 0}, {3, 0}}));
  // Nothing beyond the limit was tried: nothing would become the best.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{4, 0}, {5, 0}}));
  // Choice 5 has 1.25 of the loss allowed, of which three quarters are expected to be left.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{5, 1}}));
  // 3 of 9 s: another one would be more than the share.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{6, 0}, {7, 0}}));
  // 3 of 11 s. By then 0.61 of a loss are expected to be left: of 1.5, which is choice 6, but not
  // of 1.75.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{8, 0}, {9, 0}}));
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{6, 1}}));
}

TEST(TrainBestAgent, EndsTheRoundThatATrainingInterrupted) {
  // Nothing is worth a training at first, although there is time for one.
  Fixture search(0.9, TwoDecisions(), 3);
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{0, 0}, {1, 0}}));
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{2, 0}}));
  search.seconds = 100;
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{3, 1}}));
  EXPECT_EQ(search.agent->round(), 1U);
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{3, 0}}));
  EXPECT_EQ(search.agent->round(), 2U);
  // A search ends where an agent proposes fewer than a round.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{4, 0}, {5, 0}}));
}

TEST(TrainBestAgent, TellsTheFirstAgentOnlyOfItsOwnTrials) {
  Fixture search(0.4);
  for (int round = 0; round < 7; ++round) search.Round();
  const std::vector<TrialResult>& heard = search.heard[0];
  ASSERT_EQ(heard.size(), 10U);
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const TrialResult own = Measure(i, {static_cast<std::int32_t>(i), 0});
    EXPECT_EQ(heard[i].trial, i);
    EXPECT_EQ(heard[i].assignment, own.assignment);
    EXPECT_EQ(heard[i].constraints, own.constraints);
  }
}

TEST(TrainBestAgent, TellsTheSecondAgentOfResultsAfterATraining) {
  AgentSetup setup = TwoDecisions();
  setup.estimates = {{.offset = 10, .effects = {{0, -1}, {0, 0}}},
                     {.offset = -1, .effects = {{0, 0.25}, {0, 0}}}};
  Fixture search(0.4, setup);
  for (int round = 0; round < 7; ++round) search.Round();
  const std::vector<TrialResult>& heard = search.heard[1];
  ASSERT_EQ(heard.size(), 12U);
  // The seventh was choice 5 with a training; of the others three quarters were expected to be
  // left.
  EXPECT_EQ(heard[5].assignment, (Assignment{5, 0}));
  EXPECT_DOUBLE_EQ(heard[5].constraints[0], 0.75 * 1.25 - 1);
  EXPECT_EQ(heard[5].violation, 0);
  EXPECT_EQ(heard[6].assignment, (Assignment{5, 0}));
  EXPECT_EQ(heard[6].trial, 6U);
  EXPECT_DOUBLE_EQ(heard[6].constraints[0], 0.5 * 1.25 - 1);
  EXPECT_NEAR(heard[7].constraints[0], std::sqrt(0.75 * 0.5) * 1.5 - 1, 1e-12);
  EXPECT_EQ(heard[7].objectives, std::vector<double>{4});
  EXPECT_EQ(search.setups[0].estimates[1].effects, setup.estimates[1].effects);
  EXPECT_EQ(search.setups[1].estimates[0].effects, setup.estimates[0].effects);
  EXPECT_EQ(search.setups[1].estimates[1].effects[0], (std::vector<double>{0, 0.1875}));
  EXPECT_DOUBLE_EQ(search.setups[1].estimates[1].offset, -1);
  for (const AgentSetup& own : search.setups) {
    EXPECT_EQ(own.mask(std::vector<std::int32_t>{3}), (std::vector<bool>{true, false}));
    EXPECT_EQ(own.mask(std::vector<std::int32_t>{}), std::vector<bool>());
  }
}

TEST(TrainBestAgent, TrainsWhatTheSecondAgentProposesIfNoTrialIsWorthIt) {
  Fixture search(0.9);
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{0, 0}, {1, 0}}));
  // Trained, choice 1 would be no better than it is. The second agent counts on.
  EXPECT_EQ(search.Round(), (std::vector<Assignment>{{2, 1}}));
}

TEST(TrainBestAgent, RepeatsItselfAfterAResume) {
  Fixture search(0.4);
  std::vector<TrialResult> all;
  for (int round = 0; round < 5; ++round) {
    for (const Assignment& at : search.Round()) all.push_back(Measure(all.size(), at));
  }
  Fixture resumed(0.4);
  resumed.agent->Tell(all);
  resumed.trial = all.size();
  EXPECT_EQ(resumed.Round(), search.Round());
  EXPECT_EQ(resumed.Round(), search.Round());
}

TEST(TrainBestAgent, TrainsNothingWithoutAShareOrForAFront) {
  AgentSetup front = TwoDecisions();
  front.constraints = 0;
  front.objectives = 2;
  Fixture none(0);
  for (int round = 0; round < 5; ++round) {
    for (const Assignment& at : none.Round()) EXPECT_EQ(at[1], 0);
  }
  std::vector<TrialResult> heard;
  const auto agent = MakeTrainBestAgent(
      front, {.decision = 1, .choice = 1, .share = 0.9, .losses = {false, true}},
      [&](AgentSetup own) { return std::make_unique<CountingAgent>(std::move(own), heard); });
  for (std::uint64_t trial = 0; trial < 10;) {
    std::vector<TrialResult> results;
    for (const Assignment& at : agent->Ask(trial, *agent->round())) {
      EXPECT_EQ(at[1], 0);
      TrialResult& told = results.emplace_back();
      told.trial = trial++;
      told.assignment = at;
      told.seconds = 1;
      told.objectives = {10.0 - at[0], 1.0 * at[0]};
    }
    agent->Tell(results);
  }
}

TEST(TrainBestAgent, DoesNotRepeatATrainingThatFailed) {
  Fixture search(0.9);
  std::set<Assignment> trained;
  for (int round = 0; round < 12; ++round) {
    std::vector<TrialResult> results;
    for (const Assignment& at : search.agent->Ask(search.trial, *search.agent->round())) {
      TrialResult told = Measure(search.trial++, at);
      if (at[1] != 0) {
        EXPECT_TRUE(trained.insert(at).second) << at[0];
        told.objectives.clear();
        told.constraints.clear();
        told.violation = 0;
        told.failed = true;
      }
      results.push_back(told);
    }
    search.agent->Tell(results);
  }
  EXPECT_GE(trained.size(), 2U);
}

}  // namespace
}  // namespace msc::gym
