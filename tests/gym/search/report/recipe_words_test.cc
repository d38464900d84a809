#include "gym/search/report/recipe_words.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

using envs::RecipeWords;

TEST(RecipeWords, TellWhatASettingIs) {
  EXPECT_EQ(InWords({"epochs", {"1", "8"}}, RecipeWords::kBare),
            (Decision{"training epochs", {"1 epoch", "8 epochs"}}));
  EXPECT_EQ(InWords({"rate", {"0.0001", "0.003"}}, RecipeWords::kBare),
            (Decision{"learning rate", {"rate 0.0001", "rate 0.003"}}));
  EXPECT_EQ(InWords({"schedule", {"constant"}}, RecipeWords::kBare),
            (Decision{"rate schedule", {"constant schedule"}}));
}

TEST(RecipeWords, TellAlikeWhatStandsBesideOtherDecisions) {
  EXPECT_EQ(InWords({"distill epochs", {"epochs 0", "epochs 1", "epochs 3"}}, RecipeWords::kNamed),
            (Decision{"training epochs", {"not trained", "1 epoch", "3 epochs"}}));
  EXPECT_EQ(InWords({"distill lp", {"lp 0", "lp 0.1"}}, RecipeWords::kNamed),
            (Decision{"output distance", {"distance 0", "distance 0.1"}}));
}

TEST(RecipeWords, KnowNoOtherDecisions) {
  for (const Decision& other : {Decision{"rate", {"f32", "int8"}}, Decision{"conv1", {"f32"}},
                                Decision{"distill rate", {"f32", "int8"}}}) {
    EXPECT_EQ(InWords(other, RecipeWords::kNamed), other);
  }
}

TEST(RecipeWords, TellHowACandidateWasTrained) {
  EXPECT_EQ(TrainText({.epochs = 0}), "");
  EXPECT_EQ(TrainText({.epochs = 1}), "trained for 1 epoch at rate 0.001");
  EXPECT_EQ(TrainText({.epochs = 3, .rate = 0.0003}), "trained for 3 epochs at rate 0.0003");
}

/// A joint search between a layer's precisions and recipes, won by its second trial.
ReportInput Joint(Assignment winner) {
  ReportInput input;
  input.decisions = {{"conv", {"f32", "int8"}},
                     {"distill epochs", {"epochs 0", "epochs 3"}},
                     {"distill rate", {"rate 0.0001", "rate 0.001"}}};
  input.study.trials.resize(2);
  input.study.trials[1].number = 1;
  input.study.trials[1].assignment = std::move(winner);
  input.winner = 1;
  return input;
}

TEST(RecipeWords, SayWhatHasNoEffectWhereTheWinnerIsNotTrained) {
  ReportInput input = Joint({1, 0, 0});
  Strategy strategy;
  TellTraining(&strategy, input);
  EXPECT_EQ(input.decisions[0].name, "conv");
  EXPECT_EQ(input.decisions[2].name, "learning rate");
  EXPECT_EQ(input.moot, (std::vector<std::string>{"", "", "nothing is trained"}));
  // A whole model in f32 has nothing to learn, whatever was chosen.
  input = Joint({0, 1, 1});
  TellTraining(&strategy, input);
  EXPECT_EQ(input.moot, (std::vector<std::string>{"", "nothing is trained", "nothing is trained"}));
  input = Joint({1, 1, 1});
  strategy.fit.train.epochs = 3;
  TellTraining(&strategy, input);
  EXPECT_EQ(input.moot, (std::vector<std::string>(3)));
  input = Joint({1, 0, 0});
  TellTraining(nullptr, input);
  EXPECT_EQ(input.moot, (std::vector<std::string>(3))) << "there is no winner";
}

}  // namespace
}  // namespace msc::gym
