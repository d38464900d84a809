#include "gym/app/track_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msc::gym {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace msc::gym
