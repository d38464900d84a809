#include "cost/quality/verdict.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

TEST(MissedLimits, AreMissedByMoreThanTwoStandardErrors) {
  Quality quality;
  quality.samples = 1000;
  quality.reference_accuracy = 0.9;
  quality.accuracy = 0.88;  // 2 points less
  quality.accuracy_error = 0.0085;
  quality.outputs = {{.losses = {{"distill_loss", {0.02, 0.004}}, {"disagreement", {0, 0}}}}};
  const QualityLimits limits = {
      {"distill_loss", 0.011}, {"disagreement", 0}, {"accuracy_drop", 0.5}};
  EXPECT_EQ(MissedLimits(quality, limits),
            (std::vector<std::string>{"distill_loss"}));  // 1.5 points are within 2 * 0.85
  quality.accuracy_error = 0.007;
  quality.outputs[0].losses["distill_loss"].error = 0.005;
  EXPECT_EQ(MissedLimits(quality, limits), (std::vector<std::string>{"accuracy_drop"}));
  // Of ten samples one more lost would be ten points.
  quality.samples = 10;
  EXPECT_TRUE(MissedLimits(quality, limits).empty());
  EXPECT_TRUE(MissedLimits(quality, {}).empty());
}

/// A metric on `seen` samples that lost `loss`.
Quality WithMetric(std::int64_t seen, const MetricQuality& metric) {
  Quality quality;
  quality.samples = seen;
  quality.metrics = {metric};
  return quality;
}

TEST(IsOpen, WidensAMetricByWhatOneSampleMayBeWorth) {
  const MetricQuality none{.name = "wer", .loss = {0, 0}, .range = 100};
  // One of 100 samples more is 1 point, and 2 points are as far as the verdict looks.
  EXPECT_TRUE(IsOpen(WithMetric(100, none), {{"wer", 1.5}}, 10'000));
  EXPECT_FALSE(IsOpen(WithMetric(100, none), {{"wer", 2.5}}, 10'000));
  EXPECT_FALSE(IsOpen(WithMetric(100, none), {{"other", 0}}, 10'000));
}

TEST(IsOpen, KeepsTheLimitOfOneNumberForAllOpenUntilAllWereSeen) {
  const MetricQuality whole{.name = "mAP", .loss = {-50, 0}, .whole = true};
  const MetricQuality far{.name = "mAP", .loss = {50, 0}, .whole = true};
  for (const MetricQuality& metric : {whole, far}) {
    EXPECT_TRUE(IsOpen(WithMetric(100, metric), {{"mAP", 1}}, 1000));
    EXPECT_FALSE(IsOpen(WithMetric(1000, metric), {{"mAP", 1}}, 1000));
    EXPECT_TRUE(MissedLimits(WithMetric(100, metric), {{"mAP", 1}}).empty());
  }
}

TEST(IsOpen, IsDecidedByAnotherLimitThatIsSurelyMissed) {
  Quality quality = WithMetric(1000, {.name = "mAP", .loss = {0, 0}, .whole = true});
  quality.outputs = {{.losses = {{"distill_loss", {1, 0.01}}}}};
  EXPECT_FALSE(IsOpen(quality, {{"mAP", 1}, {"distill_loss", 0.1}}, 10'000));
}

struct OpenCase {
  const char* what;
  Quality quality;
  QualityLimits limits;
  bool open;
};
void PrintTo(const OpenCase& row, std::ostream* out) {
  *out << row.what;
}
class Verdict : public testing::TestWithParam<OpenCase> {};

TEST_P(Verdict, IsOpenWhereMoreSamplesMayTurnIt) {
  EXPECT_EQ(IsOpen(GetParam().quality, GetParam().limits, 10'000), GetParam().open);
}

Quality Seen(std::int64_t samples, double drop, double error) {
  Quality quality;
  quality.samples = samples;
  quality.reference_accuracy = 0.9;
  quality.accuracy = 0.9 - drop / 100;
  quality.accuracy_error = error / 100;
  quality.outputs = {{.losses = {{"distill_loss", {0.01, 0.002}}, {"disagreement", {0, 0}}}}};
  return quality;
}

const QualityLimits kDrop = {{"accuracy_drop", 0.3}};
const QualityLimits kBoth = {{"distill_loss", 0.001}, {"accuracy_drop", 0.3}};
const QualityLimits kLoss = {{"distill_loss", 0.013}};
const QualityLimits kOther = {{"disagreement", 0.1}};

INSTANTIATE_TEST_SUITE_P(
    Rows, Verdict,
    testing::Values(OpenCase{"nothing is asked", Seen(1000, 0.3, 0.5), {}, false},
                    OpenCase{"at the limit", Seen(1000, 0.3, 0.5), kDrop, true},
                    OpenCase{"below by one error", Seen(1000, -0.2, 0.5), kDrop, true},
                    OpenCase{"above by one error", Seen(1000, 0.8, 0.5), kDrop, true},
                    OpenCase{"far below", Seen(1000, -0.8, 0.5), kDrop, false},
                    OpenCase{"far above", Seen(1000, 1.4, 0.5), kDrop, false},
                    OpenCase{"all were seen", Seen(10'000, 0.3, 0.5), kDrop, false},
                    OpenCase{"nearly all were seen", Seen(9'900, 0.2, 0.5), kDrop, true},
                    OpenCase{"nor is there much to see", Seen(9'900, 0.1, 0.5), kDrop, false},
                    OpenCase{"another limit is missed", Seen(1000, 0.3, 0.5), kBoth, false},
                    OpenCase{"a loss", Seen(1000, 0, 0), kLoss, true},
                    OpenCase{"none of few", Seen(1000, 0, 0), kOther, true},
                    OpenCase{"none of many", Seen(5000, 0, 0), kOther, false},
                    OpenCase{"a loss that the outputs do not have",
                             Seen(1000, 0, 0),
                             {{"iou_loss", 0}},
                             false}),
    [](const auto& row) {
      std::string name;
      for (const char c : std::string(row.param.what)) {
        if (c != ' ') name += c;
      }
      return name;
    });

}  // namespace
}  // namespace msc::cost
