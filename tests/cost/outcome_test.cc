#include "cost/model/outcome.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

Outcome Full() {
  Outcome outcome;
  outcome.latency = Latency{1234.5, 4321.25, 0.1 + 0.2, 0.25, 0.35, 31, true};
  outcome.quality =
      Quality{{{"probs", OutputKind::kProbabilities, {{"distill_loss", {1e-9, 1.0 / 3.0}}}}},
              0.9321,
              0.935,
              0.01,
              10000};
  outcome.weight_bytes = 1'234'567;
  outcome.peak_bytes = 98'765;
  outcome.held_out =
      Quality{{{"probs", OutputKind::kProbabilities, {{"distill_loss", {2e-9, 1.0 / 7.0}}}}},
              0.9,
              0.91,
              0.02,
              5000};
  return outcome;
}

TEST(OutcomeJson, ReadsBackEveryBit) {
  const auto back = OutcomeFromJson(ToJson(Result<Outcome>(Full())));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value(), Full());
}

/// An outcome with a metric that gained and one that lost.
Outcome WithMetrics() {
  Outcome outcome = Full();
  outcome.quality.metrics = {
      {.name = "wer", .loss = {0.25, 0.125}, .value = 8.25, .reference = 8, .range = 100},
      {.name = "mAP", .loss = {-0.5, 0}, .value = 81, .reference = 80.5, .whole = true}};
  return outcome;
}

TEST(OutcomeJson, ReadsBackMetricsOfTheUser) {
  const auto back = OutcomeFromJson(ToJson(Result<Outcome>(WithMetrics())));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value(), WithMetrics());
}

TEST(Quality, HasScoresWithLabelsThatMayHaveRisen) {
  Outcome outcome = Full();
  outcome.quality.outputs = {
      {.name = "a", .losses = {{"iou_drop", {-2, 0.5}}}, .scores = {{"iou_drop", {82, 80}}}},
      {.name = "b", .losses = {{"iou_drop", {1, 0.5}}}, .scores = {{"iou_drop", {70, 71}}}}};
  const auto back = OutcomeFromJson(ToJson(Result<Outcome>(outcome)));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value(), outcome);
  EXPECT_EQ(outcome.quality.Loss("iou_drop"), (Estimate{1, 0.5})) << "that of the worse output";
  EXPECT_EQ(*outcome.quality.Score("iou_drop"), (LabelScore{70, 71}));
  EXPECT_EQ(*outcome.quality.Score("iou_drop:a"), (LabelScore{82, 80}));
  EXPECT_EQ(outcome.quality.Score("f1_drop"), nullptr);
}

TEST(Quality, HasTheLossesOfMetrics) {
  const Quality quality = WithMetrics().quality;
  EXPECT_EQ(quality.Loss("wer"), (Estimate{0.25, 0.125}));
  EXPECT_EQ(quality.Losses().at("mAP").value, -0.5);
  EXPECT_EQ(quality.Losses().at("distill_loss").value, 1e-9);
  EXPECT_EQ(quality.Metric("mAP")->reference, 80.5);
  EXPECT_EQ(quality.Metric("distill_loss"), nullptr);
  EXPECT_EQ(quality.Loss("unknown"), std::nullopt);
}

TEST(OutcomeJson, KeepsWhatIsAbsentAbsent) {
  Outcome outcome;
  outcome.quality.samples = 5;
  const auto back = OutcomeFromJson(ToJson(Result<Outcome>(outcome)));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value(), outcome);
  EXPECT_FALSE(back.value().latency.has_value());
  EXPECT_FALSE(back.value().quality.accuracy.has_value());
  EXPECT_FALSE(back.value().held_out.has_value());
}

TEST(OutcomeJson, ReadsBackEveryKindOfFailure) {
  for (const auto kind : {FailureKind::kUnsupported, FailureKind::kCompile, FailureKind::kTimeout,
                          FailureKind::kCrash, FailureKind::kWrongOutput, FailureKind::kOutOfMemory,
                          FailureKind::kLost}) {
    const Failure failure{kind, "a \"quoted\" line\n"};
    const auto back = OutcomeFromJson(ToJson(Result<Outcome>(failure)));
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.failure(), failure);
  }
}

TEST(OutcomeJson, WritesADetailThatIsNotText) {
  const auto back = OutcomeFromJson(ToJson(Result<Outcome>(Failure{FailureKind::kCrash, "\xff!"})));
  EXPECT_EQ(back.failure().detail, "\xEF\xBF\xBD!");
}

TEST(OutcomeJson, RefusesToWriteANumberThatIsNotFinite) {
  Outcome outcome;
  outcome.quality.outputs = {{.losses = {{"distill_loss", {std::nan(""), 0}}}}};
  EXPECT_THROW((void)ToJson(Result<Outcome>(outcome)), InternalError);
}

struct BadText {
  std::string label;
  std::string text;
  std::string message;
};
void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.label;
}
class BadOutcome : public testing::TestWithParam<BadText> {};

TEST_P(BadOutcome, IsRefusedWithAReason) {
  try {
    (void)OutcomeFromJson(GetParam().text);
    FAIL() << "it was read";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadOutcome,
    testing::Values(
        BadText{"neither", "{}", "the outcome must have either 'outcome' or 'failure'"},
        BadText{"both", R"({"outcome":{},"failure":{"kind":"lost","detail":""}})",
                "the outcome must have either 'outcome' or 'failure'"},
        BadText{"kind", R"({"failure":{"kind":"bored","detail":""}})",
                "'bored' is not a kind of failure"},
        BadText{"null", R"({"outcome":{"quality":{"accuracy_error":null}}})",
                "'outcome.quality.accuracy_error' must be a number, not null"},
        BadText{"overflow", R"({"outcome":{"quality":{"accuracy":1e999}}})",
                "the outcome holds a number that is out of range"},
        BadText{"negative", R"({"outcome":{"latency":{"ratio":-1}}})",
                "'outcome.latency.ratio' is out of range"},
        BadText{"share", R"({"outcome":{"quality":{"accuracy":1.5}}})",
                "'outcome.quality.accuracy' is out of range"},
        BadText{"unknown", R"({"outcome":{"speed":1}})",
                "unknown key 'outcome.speed'; known here: latency, quality, weight_bytes, "
                "peak_bytes, fresh"},
        BadText{"fresh", R"({"outcome":{"fresh":{"accuracy":1.5}}})",
                "'outcome.fresh.accuracy' is out of range"},
        BadText{"cut", R"({"outcome":)", "the outcome is not valid JSON at line 1, column 12"}),
    [](const auto& test) { return test.param.label; });

TEST(Latency, IsSignificantOnlyWhereTheIntervalExcludesOne) {
  Latency latency;
  latency.ratio_low = 0.98;
  latency.ratio_high = 1.01;
  EXPECT_FALSE(latency.significant());
  latency.ratio_high = 0.99;
  EXPECT_TRUE(latency.significant());
  latency.ratio_low = 1.01;
  latency.ratio_high = 1.02;
  EXPECT_TRUE(latency.significant());
}

}  // namespace
}  // namespace msc::cost
