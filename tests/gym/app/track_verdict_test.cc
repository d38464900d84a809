#include "gym/app/track_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msc::gym {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

cost::TensorError Error(const std::string& name, double relative) {
  cost::TensorError error;
  error.name = name;
  error.op = "Conv";
  error.relative = relative;
  return error;
}

TrackReport Report() {
  TrackReport report;
  report.model = "net.onnx";
  report.tolerance = 0.001;
  report.stages = {{"native", "baseline", {Error("a", 1e-6), Error("b", 3e-5)}, {}, {}},
                   {"onednn", "baseline", {Error("a", 2e-6), Error("b", 1e-6)}, {}, {}}};
  return report;
}

TEST(TrackVerdict, SaysHowNearTheValuesAre) {
  EXPECT_EQ(TrackVerdict(Report()),
            "No value departs: of 4 comparisons, the largest error is 3e-05 of a value's range, of "
            "'b' (Conv); tolerance 0.001.");
  EXPECT_EQ(TrackVerdict({}), "No value can be compared.");
}

TEST(TrackVerdict, SaysWhichValueDepartsFirst) {
  TrackReport report = Report();
  report.stages[1].errors[1].relative = 0.25;
  report.stages[1].first = 1;
  EXPECT_EQ(TrackVerdict(report),
            "'onednn' departs from 'baseline' at value 'b' (Conv): error 0.25 of its range, "
            "tolerance 0.001; the value before it, 'a', is correct.");
  cost::BisectResult target;
  target.blame = cost::Blame::kTarget;
  target.value = "b";
  report.bisections = {{"onednn", target}};
  EXPECT_THAT(TrackVerdict(report), HasSubstr("\nonednn: "));
}

StageOutputs Outputs(const std::string& stage, double disagreement, double relative_error) {
  StageOutputs outputs;
  outputs.stage = stage;
  outputs.judged.quality.samples = 64;
  outputs.judged.quality.outputs = {
      {"y",
       OutputKind::kLogits,
       {{"disagreement", {disagreement, 0.5}}, {"relative_error", {relative_error, 0.001}}}}};
  return outputs;
}

TEST(TrackVerdict, BeginsWithTheOutputsThatDoNotHold) {
  TrackReport report = Report();
  report.outputs.stages = {Outputs("optimized", 0, 0.01), Outputs("native", 25, 0.5)};
  EXPECT_EQ(TrackComplaint(report), "");
  report.outputs.stages[1].suspicions = {"output 'y' changes its decisions by 25 %, more than 6 %"};
  report.outputs.stages[1].limits = {{"disagreement", 2, 25}, {"relative_error", 1, 0.5}};
  EXPECT_THAT(
      TrackVerdict(report),
      StartsWith(
          "Limit missed and suspicious: in 'native' disagreement 25.00 %, more than the limit "
          "2.00 %; output 'y' changes its decisions by 25 %, more than 6 %.\n"
          "Outputs hold: in 'optimized' on 64 samples no decision changes, relative error "
          "0.01 \xC2\xB1 0.002.\n"
          "No value departs: "));
  EXPECT_EQ(TrackComplaint(report), "limit missed");
  report.outputs.stages[1].limits.clear();
  EXPECT_THAT(TrackVerdict(report), StartsWith("Suspicious: in 'native' output 'y' changes its "));
  EXPECT_EQ(TrackComplaint(report), "suspicious");
  report.outputs.stages[0].judged = {.failure = "output 'y' is not finite"};
  EXPECT_THAT(TrackVerdict(report),
              StartsWith("Wrong outputs: in 'optimized' output 'y' is not finite.\n"));
  EXPECT_EQ(TrackComplaint(report), "wrong outputs");
}

TEST(TrackVerdict, SaysWhetherDecisionsChangeAndLimitsAreKept) {
  TrackReport report = Report();
  report.outputs.stages = {Outputs("native", 1.5, 0.01)};
  report.outputs.stages[0].limits = {{"disagreement", 2, 1.5}};
  EXPECT_THAT(
      TrackVerdict(report),
      StartsWith("Outputs hold: in 'native' on 64 samples decisions change by 1.50 "
                 "\xC2\xB1 0.98 %, relative error 0.01 \xC2\xB1 0.002; the limit is kept.\n"));
  EXPECT_EQ(TrackComplaint(report), "");
  report.outputs = {.stages = {}, .not_judged = "an output of type str cannot be compared"};
  EXPECT_THAT(
      TrackVerdict(report),
      StartsWith("Outputs are not judged: an output of type str cannot be compared.\nNo value "));
}

TEST(TrackVerdict, TakesTheStrategysOwnDifferencesForNoFault) {
  TrackReport report = Report();
  report.strategy = true;
  report.stages[0].stage = "optimized";
  report.stages[0].errors[1].relative = 0.25;
  report.stages[0].first = 1;
  EXPECT_EQ(TrackVerdict(report),
            "No value departs: of 2 comparisons, the largest error is 2e-06 of a value's range, of "
            "'a' (Conv); tolerance 0.001.\n"
            "By the strategy, 'optimized' differs from 'baseline', first at value 'b' (Conv): "
            "error 0.25 of its range.");
  EXPECT_EQ(TrackComplaint(report), "");
  report.stages[1].first = 0;
  EXPECT_EQ(TrackComplaint(report), "values depart");
}

}  // namespace
}  // namespace msc::gym
