#include "gym/app/choose_rounding.h"

#include <string>

#include <gtest/gtest.h>

#include "cost/model/loss.h"

namespace msc::gym {
namespace {

Judged Losing(double loss, double relative_error) {
  Judged judged;
  judged.quality.outputs.push_back(
      {.name = "y",
       .kind = OutputKind::kLogits,
       .losses = {{std::string(cost::kDistillLoss), {loss, 0}},
                  {std::string(cost::kRelativeError), {relative_error, 0}}}});
  return judged;
}

ChosenRounding Choose(const Judged& nearest, const Judged& by_gptq, double fit_flops = 1e12) {
  return ChooseRounding(
      nearest, [&] { return by_gptq; }, fit_flops, {}, 50);
}

TEST(ChooseRounding, TakesGptqIfItLosesATwentiethLess) {
  EXPECT_TRUE(Choose(Losing(1, 0.05), Losing(0.9, 0.05)).fitted);
  EXPECT_FALSE(Choose(Losing(1, 0.05), Losing(0.96, 0.05)).fitted);
  EXPECT_FALSE(Choose(Losing(1, 0.05), Losing(2, 0.05)).fitted);
}

TEST(ChooseRounding, DoesNotTryGptqIfThereIsNothingToGain) {
  const ChosenRounding chosen = Choose(Losing(1e-6, 0.004), Losing(0, 0));
  EXPECT_FALSE(chosen.tried);
  EXPECT_FALSE(chosen.fitted);
  EXPECT_EQ(
      RoundingText(chosen),
      "weights rounded to the nearest: on 50 calibration samples, distillation loss 1e-06 nats");
}

TEST(ChooseRounding, DoesNotTryGptqWhereItTakesLong) {
  const ChosenRounding chosen = Choose(Losing(0.5, 0.05), Losing(0, 0), 1e14);
  EXPECT_FALSE(chosen.tried);
  EXPECT_TRUE(chosen.takes_long);
  EXPECT_NE(RoundingText(chosen).find("takes many minutes"), std::string::npos);
  EXPECT_FALSE(Choose(Losing(1e-6, 0.004), Losing(0, 0), 1e14).takes_long);
}

TEST(ChooseRounding, TakesWhatDoesNotFail) {
  const Judged failed{.failure = "output 'y' is not finite"};
  EXPECT_TRUE(Choose(failed, Losing(9, 0.05)).fitted);
  EXPECT_FALSE(Choose(Losing(9, 0.05), failed).fitted);
  EXPECT_FALSE(Choose(failed, failed).fitted);
}

TEST(ChooseRounding, SaysBothLosses) {
  EXPECT_EQ(RoundingText(Choose(Losing(0.5, 0.05), Losing(0.25, 0.05))),
            "weights rounded by gptq, with corrected biases: on 50 calibration samples, "
            "distillation loss 0.25 nats; to the nearest distillation loss 0.5 nats");
}

}  // namespace
}  // namespace msc::gym
