#include "gym/search/winner.h"

#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(IsSlower, NeedsTheWholeInterval) {
  cost::Outcome outcome;
  EXPECT_FALSE(IsSlower(outcome)) << "not timed";
  outcome.latency = cost::Latency{.ratio = 1.1, .ratio_low = 0.99, .ratio_high = 1.2};
  EXPECT_FALSE(IsSlower(outcome));
  outcome.latency->ratio_low = 1.01;
  EXPECT_TRUE(IsSlower(outcome));
}

TEST(NearestToLimits, IsTheLeastViolationThenTheBestObjective) {
  const Objective objective{{"latency"}, {{"accuracy_drop", 1}}};
  const auto of = [](double latency, double drop) {
    return Evaluation{.metrics = {{"latency", latency}, {"accuracy_drop", drop}},
                      .failure = std::nullopt,
                      .record = ""};
  };
  Evaluation failed;
  failed.failure = Failure{FailureKind::kTimeout, ""};
  const std::vector<std::optional<Evaluation>> evaluations = {failed,     std::nullopt, of(0.1, 3),
                                                              of(0.5, 2), of(0.4, 2),   of(0.4, 2)};
  EXPECT_EQ(NearestToLimits(objective, evaluations), 4U);
  EXPECT_EQ(NearestToLimits(objective, std::span(evaluations).first(2)), std::nullopt);
}

TEST(RankBaseline, PutsTheBestBaselineThatChangesSomethingAmongTheFirst) {
  const Objective objective{{"latency"}, {{"accuracy_drop", 1}}};
  std::vector<Trial> trials(7);
  const auto set = [&](std::size_t at, const char* source, Assignment assignment, double latency,
                       double drop) {
    trials[at].source = source;
    trials[at].assignment = std::move(assignment);
    trials[at].evaluation.metrics = {{"latency", latency}, {"accuracy_drop", drop}};
  };
  set(0, "anchor:f32", {0, 0}, 1.0, 0);
  set(1, "anchor:int8", {1, 1}, 0.6, 0.5);
  set(2, "anchor:0.5 int8", {1, 2}, 0.3, 4);
  for (std::size_t i = 3; i < 7; ++i) {
    set(i, "auto", {1, static_cast<std::int32_t>(i)}, 0.1 * static_cast<double>(i), 0.1);
  }
  const auto ranked = RankTrials(objective, trials);  // of 3 to 6 and 1, the faster first
  ASSERT_EQ(ranked, (std::vector<std::size_t>{3, 4, 5, 1, 6, 0, 2}));
  const auto with = [&](std::size_t most) {
    std::vector<std::size_t> changed = ranked;
    RankBaseline(objective, trials, most, changed);
    return changed;
  };
  EXPECT_EQ(with(3), (std::vector<std::size_t>{3, 4, 1, 5, 6, 0, 2}));
  EXPECT_EQ(with(2), (std::vector<std::size_t>{3, 1, 4, 5, 6, 0, 2}));
  EXPECT_EQ(with(4), ranked) << "it is among these";
  EXPECT_EQ(with(1), ranked) << "the best alone";
  EXPECT_EQ(BaselineOf(trials[2]), "0.5 int8");
  EXPECT_EQ(BaselineOf(trials[3]), "");
  trials[1].evaluation.metrics["accuracy_drop"] = 2;
  EXPECT_EQ(with(3), ranked) << "no baseline but f32 keeps the limit";
}

TEST(Uncompressed, IsTheFeasibleTrialOfAllFirstChoicesWhereSpeedIsSought) {
  std::vector<Trial> trials(3);
  trials[0].assignment = {0, 1};
  trials[1].assignment = {0, 0};
  trials[2].assignment = {1, 0};
  for (Trial& trial : trials) trial.evaluation.metrics = {{"latency", 1}, {"weight_bytes", 9}};
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, trials), 1U);
  EXPECT_EQ(FindUncompressedTrial({{"weight_bytes"}, {}}, trials), std::nullopt);
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {{"weight_bytes", 8}}}, trials), std::nullopt);
  trials[1].evaluation.failure = Failure{FailureKind::kTimeout, ""};
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, trials), std::nullopt);
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, {}), std::nullopt);
}

}  // namespace
}  // namespace msc::gym
