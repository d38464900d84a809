#include "cost/measure/metric_judge.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/tensor.h"
#include "cost/measure/child.h"

namespace msc::cost {
namespace {

/// Runs shell scripts as metrics, on a model with two outputs and five samples.
class MetricTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "cost_metric_judge/" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    MakeFolders(folder_);
  }
  ArrayFile Write(const std::string& name, const std::string& file, float first) {
    Tensor rows(DType::kF32, {5, 2});
    for (float& value : rows.MutableValues<float>()) value = first++;
    const std::string path = folder_ + "/" + file;
    WriteNpy(path, rows);
    return {.name = name, .path = path};
  }
  MetricArrays Arrays() {
    const std::string labels = folder_ + "/labels.npy";
    const std::vector<std::int32_t> classes = {3, 1, 4, 1, 5};
    WriteNpy(labels, Tensor::From<std::int32_t>(DType::kI32, {5}, classes));
    return {.inputs = {Write("x", "x.npy", 0)},
            .labels = ArrayFile{.name = "labels", .path = labels},
            .reference = {Write("y", "y.npy", 100), Write("y/../z", "z.npy", 200)},
            .samples = 5};
  }
  MetricHost Host() { return {.scratch = folder_, .environment = {"PATH=/usr/bin:/bin"}}; }
  /// Outputs of a candidate from sample 1 on.
  std::vector<ArrayFile> Candidate() {
    std::vector<ArrayFile> files = {Write("y", "cy.npy", 300), Write("y/../z", "cz.npy", 400)};
    for (ArrayFile& file : files) file.first = 1;
    return files;
  }
  static MetricSpec Shell(const std::string& script) {
    return {.command = {"sh", "-c", script}, .better = "lower", .timeout_s = 20};
  }
  MetricJudge Judge(const std::string& script) {
    return {{{"m", {.spec = Shell(script), .hash = {}}}}, Arrays(), Host()};
  }
  [[nodiscard]] std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kMetricPrefix)) names.push_back(name);
    }
    return names;
  }
  std::string folder_;
};

TEST_F(MetricTest, GetsTheRowsThatAreJudged) {
  const std::string kept = folder_ + "/kept";
  MetricJudge judge = Judge("rm -rf " + kept + "; cp -rL . " + kept + "; echo '{\"value\": 1}'");
  (void)judge.MeasureReference();
  EXPECT_EQ(ReadNpy(kept + "/outputs/y.npy"), ReadNpy(folder_ + "/y.npy"));
  const MetricManifest all = ReadMetricManifest(kept);
  EXPECT_EQ(all.first, 0);
  EXPECT_EQ(all.count, 5);

  const auto measured = judge.Judge(Candidate(), {2, 2});
  ASSERT_TRUE(measured.ok()) << measured.failure().detail;
  const MetricManifest some = ReadMetricManifest(kept);
  EXPECT_EQ(some.first, 2);
  EXPECT_EQ(some.count, 2);
  ASSERT_EQ(some.outputs.size(), 2U);
  EXPECT_EQ(some.outputs[1].name, "y/../z");
  EXPECT_EQ(some.outputs[1].file, "outputs/y_.._z.npy");
  EXPECT_EQ(ReadNpy(kept + "/" + some.outputs[1].file), ReadNpy(folder_ + "/cz.npy", {1, 2}));
  EXPECT_EQ(ReadNpy(kept + "/" + some.samples.at(0).file), ReadNpy(folder_ + "/x.npy", {2, 2}));
  EXPECT_EQ(ReadNpy(kept + "/" + some.labels), ReadNpy(folder_ + "/labels.npy", {2, 2}));
}

TEST_F(MetricTest, ComparesACandidateWithTheUncompressedModelOnTheSameSamples) {
  // The last number of y says which model and samples these are.
  MetricJudge judge = Judge(
      "case $(tail -c 4 outputs/y.npy | od -An -tf4 | tr -d ' ') in "
      "109) echo '{\"values\": [0, 10, 20, 30, 40]}';; "
      "105) echo '{\"values\": [10, 20]}';; 303) echo '{\"values\": [11, 24]}';; esac");
  const auto& reference = judge.MeasureReference();
  EXPECT_EQ(reference.at("m"), (MetricReference{.value = 20, .noise = 0, .whole = false}));
  const auto measured = judge.Judge(Candidate(), {1, 2});
  ASSERT_TRUE(measured.ok()) << measured.failure().detail;
  const MetricQuality& quality = measured.value().at(0);
  EXPECT_DOUBLE_EQ(quality.loss.value, 2.5);  // 1 and 4 more
  EXPECT_DOUBLE_EQ(quality.reference, 15);
  EXPECT_DOUBLE_EQ(quality.value, 17.5);
}

TEST_F(MetricTest, AsksOfTheUncompressedModelOnceForOtherSamples) {
  const std::string calls = folder_ + "/calls";
  MetricJudge judge = Judge("echo >> " + calls + "; echo '{\"value\": 7}'");
  EXPECT_EQ(judge.MeasureReference().at("m"),
            (MetricReference{.value = 7, .noise = 0, .whole = true}));
  const auto count = [&] { return std::filesystem::file_size(calls); };
  EXPECT_EQ(count(), 2U) << "twice";
  ASSERT_TRUE(judge.Judge(Candidate(), {1, 2}).ok());
  EXPECT_EQ(count(), 4U) << "the candidate and the uncompressed model";
  ASSERT_TRUE(judge.Judge(Candidate(), {1, 2}).ok());
  EXPECT_EQ(count(), 5U) << "the candidate";
}

TEST_F(MetricTest, AddsTheNoiseOfARandomMetricToTheInterval) {
  const std::string calls = folder_ + "/calls";
  MetricJudge judge =
      Judge("echo >> " + calls + "; echo '{\"value\": '$(wc -l < " + calls + ")'}'");
  EXPECT_EQ(judge.MeasureReference().at("m").noise, 1);
  const auto measured = judge.Judge(Candidate(), {1, 2});
  ASSERT_TRUE(measured.ok());
  // Of 2 of 5 samples.
  EXPECT_NEAR(measured.value().at(0).loss.error, std::sqrt(2.5), 1e-12);
}

TEST_F(MetricTest, LeavesNothingBehind) {
  {
    MetricJudge judge = Judge("echo junk > junk; echo '{\"value\": 1}'");
    (void)judge.MeasureReference();
    ASSERT_TRUE(judge.Judge(Candidate(), {1, 4}).ok());
  }
  EXPECT_TRUE(Leftovers().empty());
}

struct Case {
  std::string what;
  std::string script;
  FailureKind kind;
  std::string detail;
};
void PrintTo(const Case& row, std::ostream* out) {
  *out << row.what;
}
class BadMetric : public MetricTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "cost_metric_judge/" + GetParam().what;
    std::filesystem::remove_all(folder_);
    MakeFolders(folder_);
  }
};

TEST_P(BadMetric, IsAFailureThatNamesIt) {
  MetricSpec spec = Shell(GetParam().script);
  spec.timeout_s = 0.5;
  const auto result =
      RunMetric({.name = "m", .spec = spec, .folder = folder_, .samples = 2}, Host());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure().kind, GetParam().kind);
  EXPECT_EQ(result.failure().detail.substr(0, GetParam().detail.size()), GetParam().detail);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadMetric,
    testing::Values(
        Case{"Hangs", "sleep 60", FailureKind::kTimeout, "metric 'm': no answer within 500 ms"},
        Case{"HangsInAGrandchild", "(sleep 60 & wait)", FailureKind::kTimeout,
             "metric 'm': no answer within 500 ms"},
        Case{"Exits", "echo first >&2; echo ValueError: no labels >&2; exit 3", FailureKind::kCrash,
             "metric 'm': exited with 3: ValueError: no labels"},
        Case{"Crashes", "kill -SEGV $$", FailureKind::kCrash, "metric 'm': died of SIGSEGV"},
        Case{"IsKilled", "kill -KILL $$", FailureKind::kLost,
             "metric 'm': killed from outside by SIGKILL"},
        Case{"SaysNothing", "true", FailureKind::kCrash, "metric 'm': ended without a result"},
        Case{"SaysNan", "echo '{\"value\": NaN}'", FailureKind::kCrash,
             "metric 'm': gave '{\"value\": NaN} ' instead of"},
        Case{"SaysMuch", "yes '{\"value\": 1}' | head -c 10000000", FailureKind::kCrash,
             "metric 'm': sent a result that is too long"},
        Case{"NeverStops", "yes", FailureKind::kTimeout, "metric 'm': no answer within 500 ms"},
        Case{"Miscounts", "echo '{\"values\": [1]}'", FailureKind::kCrash,
             "metric 'm': gave 1 values for 2 samples"}),
    [](const auto& test) { return test.param.what; });

TEST_F(MetricTest, EndsWithTheReasonIfTheUncompressedModelHasNone) {
  MetricJudge judge = Judge("echo no truth >&2; exit 1");
  try {
    (void)judge.MeasureReference();
    FAIL() << "it has a metric";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "metric 'm': exited with 1: no truth, of the uncompressed model");
  }
}

TEST_F(MetricTest, SaysThatTheProgramMustBeOnEveryMachine) {
  const auto message = [&](std::vector<std::string> command) -> std::string {
    const MetricSpec spec{.command = std::move(command), .better = "lower"};
    try {
      (void)RunMetric({.name = "m", .spec = spec, .folder = folder_, .samples = 1}, Host());
    } catch (const UserError& error) {
      return error.what();
    }
    return "it ran";
  };
  EXPECT_EQ(message({"no-such-program"}),
            "metric 'm': there is no program 'no-such-program' in PATH; the program and its files "
            "must be on every machine that measures");
  EXPECT_EQ(message({"/no/such/program"}),
            "metric 'm': cannot execute '/no/such/program': No such file or directory; the program "
            "and its files must be on every machine that measures");
}

TEST_F(MetricTest, CallsAFunctionOfThisProcess) {
  MetricHost host = Host();
  const MetricSpec spec{.function = "hash", .better = "lower", .timeout_s = 2};
  const MetricCall call{.name = "f", .spec = spec, .folder = folder_, .samples = 1};
  EXPECT_THROW((void)RunMetric(call, host), UserError);
  host.functions["f"] = [&](const std::string& folder,
                            std::chrono::milliseconds timeout) -> Result<std::string> {
    EXPECT_EQ(folder, folder_);
    EXPECT_EQ(timeout.count(), 2000);
    return std::string(R"({"value": 3})");
  };
  const auto result = RunMetric(call, host);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().values, std::vector<double>{3});
}

TEST_F(MetricTest, StopsWhenToldTo) {
  const auto result =
      RunMetric({.name = "m", .spec = Shell("sleep 60"), .folder = folder_, .samples = 1}, Host(),
                [] { return true; });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), ToldToStop());
}

}  // namespace
}  // namespace msc::cost
