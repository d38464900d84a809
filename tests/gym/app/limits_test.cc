#include "gym/app/limits.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

cost::QualityLimits Read(const std::string& text) {
  cost::QualityLimits limits;
  ReadLimit(text, limits);
  return limits;
}

cost::Quality TwoOutputs() {
  cost::Quality quality;
  quality.outputs = {{.name = "a", .losses = {{"disagreement", {.value = 1}}}},
                     {.name = "b=1", .losses = {{"disagreement", {.value = 3}}}}};
  quality.metrics = {{.name = "wer", .loss = {.value = 0.5}}};
  return quality;
}

TEST(Limits, AreReadFromTheLastEqualsSign) {
  EXPECT_EQ(Read("disagreement=2"), (cost::QualityLimits{{"disagreement", 2}}));
  EXPECT_EQ(Read("iou_loss:b=1=0.5"), (cost::QualityLimits{{"iou_loss:b=1", 0.5}}));
  EXPECT_EQ(Read("accuracy_drop=-0.5"), (cost::QualityLimits{{"accuracy_drop", -0.5}}));
}

TEST(Limits, OfAnotherFormAreRefused) {
  for (const char* text : {"disagreement", "=2", "disagreement=", "disagreement=2%",
                           "disagreement=nan", "disagreement=inf", ""}) {
    EXPECT_EQ(ErrorOf([&] { (void)Read(text); }),
              "--limit '" + std::string(text) + "': write LOSS=VALUE, such as disagreement=2");
  }
  EXPECT_EQ(ErrorOf([] { (void)Read("disagreement:a=-1"); }),
            "--limit 'disagreement:a=-1': disagreement of 'a' is never below 0");
}

TEST(Limits, OfWhatIsNoLossAreRefusedWithAGuessOrAList) {
  EXPECT_EQ(ErrorOf([] {
              CheckLimitNames({{"disagrement", 2}}, {});
            }),
            "--limit names the unknown loss 'disagrement'; did you mean 'disagreement'?");
  EXPECT_EQ(ErrorOf([] {
              CheckLimitNames({{"xyz", 2}}, {"wer"});
            }),
            "--limit names the unknown loss 'xyz'; known: wer, distill_loss, disagreement, "
            "relative_error, cosine_distance, iou_loss, box_loss, edit_distance, accuracy_drop, "
            "iou_drop, f1_drop, edit_distance_rise, relative_error_rise");
  CheckLimitNames({{"wer", 2}, {"iou_loss:mask", 1}}, {"wer"});
}

TEST(Limits, OnLossesThatTheOutputsDoNotHaveAreRefused) {
  EXPECT_EQ(ErrorOf([] {
              (void)JudgeLimits({{"iou_loss", 2}}, TwoOutputs());
            }),
            "--limit: the outputs have no loss 'iou_loss'; known: disagreement, disagreement:a, "
            "disagreement:b=1, wer");
  EXPECT_EQ(ErrorOf([] {
              CheckLimits({{"accuracy_drop", 2}}, {"disagreement"});
            }),
            "--limit accuracy_drop needs --labels of its kind (docs/quality.md)");
}

TEST(Limits, AreKeptUpToTheLossOfTheOutputThatTheyName) {
  const auto verdicts = JudgeLimits(
      {{"disagreement", 3}, {"disagreement:a", 0.9}, {"disagreement:b=1", 2.99}, {"wer", 0.5}},
      TwoOutputs());
  ASSERT_EQ(verdicts.size(), 4U);
  EXPECT_TRUE(verdicts[0].kept());
  EXPECT_FALSE(verdicts[1].kept());
  EXPECT_FALSE(verdicts[2].kept());
  EXPECT_TRUE(verdicts[3].kept());
  EXPECT_EQ(LimitText(verdicts[0]), "disagreement 3.00 % keeps the limit 3.00 %");
  EXPECT_EQ(LimitText(verdicts[2]), "disagreement of 'b=1' 3.00 %, more than the limit 2.99 %");
}

}  // namespace
}  // namespace msc::gym
