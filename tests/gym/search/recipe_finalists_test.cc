#include "gym/search/recipe_finalists.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/quality.h"

namespace msc::gym {
namespace {

/// A trial that was trained for so many epochs, a step each.
Trial MadeTrial(std::uint64_t number, std::int64_t epochs, double loss) {
  Trial trial;
  trial.number = number;
  trial.assignment = {static_cast<std::int32_t>(epochs)};
  trial.evaluation.metrics = {{"distill_loss", loss}, {"train_steps", epochs}};
  return trial;
}

/// Losses by epochs and seed; what has none fails.
using Losses = std::map<std::pair<std::int64_t, std::uint64_t>, double>;

struct Turns {
  Losses losses;
  std::size_t stop_after = 100;              ///< trainings
  std::optional<double> held_out_more = {};  ///< loss on fresh samples beyond that on all
  std::vector<std::pair<std::int64_t, std::uint64_t>> order = {};
  std::vector<std::string> said = {};
  std::size_t kept = 0;

  Retraining How() {
    Retraining how;
    how.recipe_of = [](const Assignment& assignment) {
      TrainSettings settings;
      settings.epochs = assignment.at(0);
      settings.seed = 10;
      return settings;
    };
    how.train =
        [this](const TrainSettings& settings,
               const std::function<void(double)>& heard) -> std::optional<Result<cost::Outcome>> {
      if (order.size() >= stop_after) return std::nullopt;
      order.emplace_back(settings.epochs, settings.seed);
      heard(0.5);
      const auto loss = losses.find(order.back());
      if (loss == losses.end()) return Failure{FailureKind::kWrongOutput, "not finite"};
      cost::Outcome outcome;
      outcome.quality = cost::QualityOf({{"distill_loss", {loss->second, 0.01}}});
      if (held_out_more) {
        outcome.held_out = outcome.quality;
        outcome.held_out->outputs[0].losses["distill_loss"].value += *held_out_more;
      }
      return outcome;
    };
    how.say = [this](const std::string& text) { said.push_back(text); };
    how.keep = [this](const Findings& /*findings*/) { ++kept; };
    return how;
  }
};

const Objective kLoss = {.minimize = {"distill_loss"}, .subject_to = {}};

TEST(RecipeFinalists, AreTheBestByTheMeanOfTurnsWithOtherSeeds) {
  // Trial 1 was lucky with its seed.
  const std::vector<Trial> trials = {MadeTrial(0, 1, 0.3), MadeTrial(1, 2, 0.1),
                                     MadeTrial(2, 4, 0.2)};
  Turns run{.losses = {{{2, 11}, 0.4},
                       {{2, 12}, 0.5},
                       {{2, 13}, 0.6},
                       {{4, 11}, 0.2},
                       {{4, 12}, 0.2},
                       {{4, 13}, 0.2}}};
  Findings findings;
  ASSERT_TRUE(TrainFinalists(kLoss, trials, 2, run.How(), findings));
  using Order = decltype(run.order);
  EXPECT_EQ(run.order, (Order{{2, 11}, {4, 11}, {2, 12}, {4, 12}, {2, 13}, {4, 13}}));
  ASSERT_EQ(findings.recipes.size(), 2U);
  EXPECT_TRUE(AllTrained(findings));
  EXPECT_EQ(findings.best, 1U);
  EXPECT_EQ(findings.nearest, std::nullopt);
  EXPECT_EQ(findings.recipes[1].trial, 2U);
  EXPECT_DOUBLE_EQ(findings.recipes[0].metrics.at("distill_loss"), 0.5);
  EXPECT_EQ(findings.recipes[0].metrics.at("train_steps"), 2);
  // Seeds by Student's t, and samples, which all turns share.
  EXPECT_NEAR(findings.recipes[0].margins.at("distill_loss"),
              std::hypot(4.303 * 0.1 / std::sqrt(3), 1.96 * 0.01), 1e-9);
  EXPECT_NEAR(findings.recipes[1].margins.at("distill_loss"), 1.96 * 0.01, 1e-9);
  EXPECT_EQ(MeanText(findings.recipes[0], "distill_loss"), "0.5 \xC2\xB1 0.25");
  EXPECT_EQ(MeanText(findings.recipes[0], "train_steps"), "2");
  EXPECT_EQ(MeanText(findings.recipes[0], "accuracy_drop"), "-");
  EXPECT_EQ(run.kept, 7U);
  EXPECT_EQ(run.said.front().rfind("[finalists] recipe 1/2, repeat 1/3 | eta ", 0), 0U);
}

TEST(RecipeFinalists, KeepTheLimitsInTrialsAndInTheirMeans) {
  const std::vector<Trial> trials = {MadeTrial(0, 1, 0.3), MadeTrial(1, 2, 0.1),
                                     MadeTrial(2, 8, 0.05)};
  const Objective limited = {.minimize = {"distill_loss"},
                             .subject_to = {{"train_steps", 4}, {"distill_loss", 0.2}}};
  Turns run{.losses = {{{2, 11}, 0.3}, {{2, 12}, 0.3}, {{2, 13}, 0.3}}};
  Findings findings;
  ASSERT_TRUE(TrainFinalists(limited, trials, 4, run.How(), findings));
  ASSERT_EQ(findings.recipes.size(), 1U);
  EXPECT_EQ(findings.recipes[0].trial, 1U);
  EXPECT_EQ(findings.best, std::nullopt);
  EXPECT_EQ(findings.nearest, 0U);
}

TEST(RecipeFinalists, SayWhatFreshSamplesTold) {
  const Objective limited = {.minimize = {"distill_loss"}, .subject_to = {{"distill_loss", 0.25}}};
  Turns run{.losses = {{{2, 11}, 0.2}, {{2, 12}, 0.2}, {{2, 13}, 0.2}}};
  Findings findings;
  ASSERT_TRUE(TrainFinalists(limited, {MadeTrial(1, 2, 0.1)}, 1, run.How(), findings));
  EXPECT_EQ(HeldOutText(limited, findings.recipes.at(0)), "");
  const std::string told = "on samples that no trial saw: distill_loss ";
  run.held_out_more = 0.06;  // above the limit, within the interval
  findings = {};
  ASSERT_TRUE(TrainFinalists(limited, {MadeTrial(1, 2, 0.1)}, 1, run.How(), findings));
  EXPECT_EQ(findings.best, 0U) << "the limit is one on all samples";
  EXPECT_DOUBLE_EQ(findings.recipes.at(0).metrics.at("distill_loss"), 0.2);
  EXPECT_EQ(HeldOutText(limited, findings.recipes.at(0)), told + "0.26 \xC2\xB1 0.02");
  run.held_out_more = 0.08;
  findings = {};
  ASSERT_TRUE(TrainFinalists(limited, {MadeTrial(1, 2, 0.1)}, 1, run.How(), findings));
  EXPECT_EQ(
      HeldOutText(limited, findings.recipes.at(0)),
      told + "0.28 \xC2\xB1 0.02; there distill_loss misses its limit by more than this interval");
}

TEST(RecipeFinalists, AreNoAnswerWhereATrainingFails) {
  const std::vector<Trial> trials = {MadeTrial(0, 1, 0.3), MadeTrial(1, 2, 0.1)};
  Turns run{
      .losses = {{{1, 11}, 0.5}, {{1, 12}, 0.5}, {{1, 13}, 0.5}, {{2, 11}, 0.1}, {{2, 13}, 0.1}}};
  Findings findings;
  ASSERT_TRUE(TrainFinalists(kLoss, trials, 2, run.How(), findings));
  EXPECT_EQ(findings.best, 1U);
  EXPECT_EQ(findings.recipes[1].trial, 0U);
  EXPECT_EQ(FailuresOf(findings.recipes[0]), 1U);
  EXPECT_DOUBLE_EQ(findings.recipes[0].metrics.at("distill_loss"), 0.1);
  EXPECT_EQ(EvaluationOf(findings.recipes[0]).failure->detail,
            "1 of 3 trainings failed: not finite");
}

TEST(RecipeFinalists, GoOnWhereTheyWereStopped) {
  const std::vector<Trial> trials = {MadeTrial(0, 1, 0.3), MadeTrial(1, 2, 0.1)};
  Turns run{.losses = {{{1, 11}, 0.5},
                       {{1, 12}, 0.5},
                       {{1, 13}, 0.5},
                       {{2, 11}, 0.1},
                       {{2, 12}, 0.1},
                       {{2, 13}, 0.1}},
            .stop_after = 3};
  Findings findings;
  EXPECT_FALSE(TrainFinalists(kLoss, trials, 2, run.How(), findings));
  EXPECT_FALSE(AllTrained(findings));
  EXPECT_EQ(findings.best, std::nullopt);
  Turns rest{.losses = run.losses};
  EXPECT_TRUE(TrainFinalists(kLoss, trials, 2, rest.How(), findings));
  using Order = decltype(run.order);
  EXPECT_EQ(rest.order, (Order{{1, 12}, {2, 13}, {1, 13}}));
  EXPECT_EQ(findings.best, 0U);
  // One that is new to the finalists is trained alone.
  std::vector<Trial> more = trials;
  more.push_back(MadeTrial(2, 4, 0.05));
  Turns last;
  EXPECT_TRUE(TrainFinalists(kLoss, more, 2, last.How(), findings));
  EXPECT_EQ(last.order, (Order{{4, 11}, {4, 12}, {4, 13}}));
  EXPECT_EQ(findings.best, 1U);
}

TEST(RecipeFinalists, AreNoneWhereNoTrialKeepsTheLimits) {
  const std::vector<Trial> trials = {MadeTrial(0, 1, 0.3)};
  Turns run;
  Findings findings;
  EXPECT_TRUE(TrainFinalists({.minimize = {"distill_loss"}, .subject_to = {{"distill_loss", 0.1}}},
                             trials, 2, run.How(), findings));
  EXPECT_TRUE(findings.recipes.empty());
  EXPECT_TRUE(AllTrained(findings));
  EXPECT_EQ(findings.best, std::nullopt);
}

}  // namespace
}  // namespace msc::gym
