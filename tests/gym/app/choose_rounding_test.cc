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

ChosenRounding Choose(const Judged& nearest, const Judged& by_gptq, const Judged& corrected,
                      double fit_flops = 1e12) {
  return ChooseRounding(
      nearest,
      [&](const TriedRounding& tried) { return tried.rounding == "gptq" ? by_gptq : corrected; },
      fit_flops, {}, 50);
}

std::string Chosen(double nearest, double by_gptq, double corrected) {
  return RoundingName(
      Choose(Losing(nearest, 0.05), Losing(by_gptq, 0.05), Losing(corrected, 0.05)).best());
}

TEST(ChooseRounding, TakesWhatLosesATwentiethLess) {
  EXPECT_EQ(Chosen(1, 0.9, 2), "by gptq, with corrected biases");
  EXPECT_EQ(Chosen(1, 0.96, 0.97), "to the nearest");
  EXPECT_EQ(Chosen(1, 2, 2), "to the nearest");
  EXPECT_EQ(Chosen(1, 2, 0.9), "to the nearest, with corrected biases");
  EXPECT_EQ(Chosen(1, 0.9, 0.8), "to the nearest, with corrected biases");
  EXPECT_EQ(Chosen(1, 0.8, 0.9), "by gptq, with corrected biases");
}

TEST(ChooseRounding, TriesNothingIfThereIsNothingToGain) {
  const ChosenRounding chosen = Choose(Losing(1e-6, 0.004), Losing(0, 0), Losing(0, 0));
  EXPECT_EQ(chosen.tried.size(), 1U);
  EXPECT_EQ(chosen.chosen, 0U);
  EXPECT_EQ(
      RoundingText(chosen),
      "weights rounded to the nearest: on 50 calibration samples, distillation loss 1e-06 nats");
}

TEST(ChooseRounding, TriesNothingWhereItTakesLong) {
  const ChosenRounding chosen = Choose(Losing(0.5, 0.05), Losing(0, 0), Losing(0, 0), 1e14);
  EXPECT_EQ(chosen.tried.size(), 1U);
  EXPECT_TRUE(chosen.takes_long);
  EXPECT_NE(RoundingText(chosen).find("takes many minutes"), std::string::npos);
  EXPECT_FALSE(Choose(Losing(1e-6, 0.004), Losing(0, 0), Losing(0, 0), 1e14).takes_long);
}

TEST(ChooseRounding, TriesGptqAloneIfThereIsTimeForOne) {
  const ChosenRounding chosen = Choose(Losing(0.5, 0.05), Losing(0.2, 0.05), Losing(0, 0), 6e12);
  ASSERT_EQ(chosen.tried.size(), 2U);
  EXPECT_EQ(RoundingName(chosen.best()), "by gptq, with corrected biases");
  EXPECT_EQ(RoundingText(chosen).find("takes many minutes"), std::string::npos);
}

TEST(ChooseRounding, TakesWhatDoesNotFail) {
  const Judged failed{.failure = "output 'y' is not finite"};
  EXPECT_EQ(Choose(failed, Losing(9, 0.05), failed).chosen, 1U);
  EXPECT_EQ(Choose(failed, failed, Losing(9, 0.05)).chosen, 2U);
  EXPECT_EQ(Choose(Losing(9, 0.05), failed, failed).chosen, 0U);
  EXPECT_EQ(Choose(failed, failed, failed).chosen, 0U);
}

TEST(ChooseRounding, SaysAllLosses) {
  EXPECT_EQ(RoundingText(Choose(Losing(0.5, 0.05), Losing(0.25, 0.05), Losing(0.4, 0.05))),
            "weights rounded by gptq, with corrected biases: on 50 calibration samples, "
            "distillation loss 0.25 nats; to the nearest distillation loss 0.5 nats; to the "
            "nearest, with corrected biases distillation loss 0.4 nats");
}

}  // namespace
}  // namespace msc::gym
