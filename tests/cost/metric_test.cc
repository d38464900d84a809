#include "cost/measure/metric.h"

#include <filesystem>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc::cost {
namespace {

/// The message of the UserError that `call` throws.
template <class Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadMetricValues, TakesOneNumberOrOneForEachSample) {
  const auto one = ReadMetricValues(" {\"value\": -0.5}\n", 3);
  ASSERT_TRUE(one.ok()) << one.failure().detail;
  EXPECT_TRUE(one.value().whole);
  EXPECT_EQ(one.value().Mean(), -0.5);
  const auto each = ReadMetricValues(R"({"values": [1, 2.5, 1e3]})", 3);
  ASSERT_TRUE(each.ok()) << each.failure().detail;
  EXPECT_FALSE(each.value().whole);
  EXPECT_EQ(each.value().values, (std::vector<double>{1, 2.5, 1000}));
}

struct Case {
  std::string what;
  std::string text;
  std::string detail;  ///< part of it
};
void PrintTo(const Case& row, std::ostream* out) {
  *out << row.what;
}
class BadAnswer : public testing::TestWithParam<Case> {};

TEST_P(BadAnswer, IsAFailureThatQuotesIt) {
  const auto result = ReadMetricValues(GetParam().text, 3);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure().kind, FailureKind::kCrash);
  EXPECT_NE(result.failure().detail.find(GetParam().detail), std::string::npos)
      << result.failure().detail;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadAnswer,
    testing::Values(
        Case{"Nan", R"({"value": NaN})", R"(gave '{"value": NaN}' instead of {"value": NUMBER})"},
        Case{"Infinity", R"({"value": 1e999})", "out of range"},
        Case{"Null", R"({"value": null})", "without a number in either"},
        Case{"Empty", "{}", "without a number in either 'value' or 'values'"},
        Case{"Both", R"({"value": 1, "values": [1, 1, 1]})", "in either 'value' or 'values'"},
        Case{"Text", R"({"value": "0.5"})", "'value' must be"},
        Case{"NullAmongValues", R"({"values": [1, null, 2]})", "'values[1]' must be"},
        Case{"TooFew", R"({"values": [1, 2]})", "gave 2 values for 3 samples"},
        Case{"None", R"({"values": []})", "gave 0 values for 3 samples"},
        Case{"Garbage", "loading...\n{\"value\": 1}", "gave 'loading... {\"value\": 1}'"},
        Case{"MoreBehind", R"({"value": 1} {"value": 2})", "is not valid JSON"},
        Case{"OtherKey", R"({"value": 1, "unit": "%"})", "unit"},
        Case{"Binary", std::string("\0\xff\x1b[2J", 6), "gave '   [2J'"},
        Case{"List", "[1]", "gave"}),
    [](const auto& test) { return test.param.what; });

TEST(CompareMetric, IsWhatGotWorse) {
  const MetricSpec lower{.better = "lower"};
  const MetricSpec higher{.better = "higher"};
  const MetricValues before{{10, 20, 30, 40}};
  const MetricValues after{{10, 20, 30, 60}};
  const auto worse = CompareMetric("wer", lower, before, after, 0);
  ASSERT_TRUE(worse.ok());
  EXPECT_EQ(worse.value().name, "wer");
  EXPECT_DOUBLE_EQ(worse.value().loss.value, 5);
  // Differences 0, 0, 0, 20: their standard deviation is 10.
  EXPECT_NEAR(worse.value().loss.error, 5, 1e-12);
  EXPECT_DOUBLE_EQ(worse.value().value, 30);
  EXPECT_DOUBLE_EQ(worse.value().reference, 25);
  EXPECT_DOUBLE_EQ(worse.value().range, 50);
  EXPECT_DOUBLE_EQ(CompareMetric("mAP", higher, before, after, 0).value().loss.value, -5);
  EXPECT_NEAR(CompareMetric("wer", lower, before, after, 12).value().loss.error, 13, 1e-12);
}

TEST(CompareMetric, HasNoIntervalOfOneNumberButThatOfItsNoise) {
  const MetricSpec higher{.better = "higher"};
  const auto lost = CompareMetric("mAP", higher, {{80}, true}, {{79}, true}, 0.25);
  ASSERT_TRUE(lost.ok());
  EXPECT_TRUE(lost.value().whole);
  EXPECT_EQ(lost.value().loss, (Estimate{1, 0.25}));
  EXPECT_EQ(lost.value().range, 0);
}

TEST(CompareMetric, RefusesAnswersOfTwoForms) {
  const MetricSpec higher{.better = "higher"};
  EXPECT_EQ(CompareMetric("m", higher, {{80}, true}, {{79}, false}, 0).failure().detail,
            "gave one number at one time and one for each sample at another");
  EXPECT_EQ(CompareMetric("m", higher, {{1e308}, true}, {{-1e308}, true}, 0).failure().detail,
            "gave numbers that are too large to average");
}

TEST(CheckedMetric, SaysWhatToChange) {
  const MetricSpec good{.command = {"python3", "wer.py"}, .better = "lower"};
  EXPECT_EQ(CheckedMetric("word-error.2_x", good).spec, good);
  EXPECT_EQ(
      MessageOf([&] { (void)CheckedMetric("../x", good); }),
      "a metric cannot be called '../x': use letters, digits, '_', '-' and '.', with a letter "
      "first");
  for (const char* taken : {"latency", "disagreement", "accuracy_drop", "weight_bytes"}) {
    EXPECT_EQ(
        MessageOf([&] { (void)CheckedMetric(taken, good); }),
        "a metric cannot be called '" + std::string(taken) + "': MSCGym has one of that name");
  }
  EXPECT_EQ(MessageOf([&] { (void)CheckedMetric("m", {.better = "lower"}); }),
            "metric 'm': give either 'command' or 'library'");
  EXPECT_EQ(MessageOf([&] {
              (void)CheckedMetric("m", {.command = {"a"}, .library = {"b"}, .better = "lower"});
            }),
            "metric 'm': give either 'command' or 'library'");
  EXPECT_EQ(MessageOf([&] { (void)CheckedMetric("m", {.command = {"python3"}}); }),
            "metric 'm': set 'better' to \"higher\" or \"lower\", whichever is better");
  EXPECT_EQ(
      MessageOf([&] { (void)CheckedMetric("m", {.library = {"./no.so"}, .better = "lower"}); }),
      "metric 'm': there is no file './no.so'");
}

TEST(CheckedMetric, KnowsAMetricByItsWordsAndFiles) {
  const std::string folder = testing::TempDir() + "cost_metric";
  MakeFolders(folder);
  WriteFileAtomic(folder + "/wer.py", "print(1)\n");
  MetricSpec spec{.command = {"python3", "wer.py", "x"}, .better = "lower"};
  ResolveFiles(folder, spec);
  EXPECT_EQ(spec.command,
            (std::vector<std::string>{
                "python3",
                std::filesystem::absolute(folder + "/wer.py").lexically_normal().string(), "x"}));
  const std::string hash = CheckedMetric("m", spec).hash;
  EXPECT_EQ(CheckedMetric("m", spec).hash, hash);
  WriteFileAtomic(folder + "/wer.py", "print(2)\n");
  EXPECT_NE(CheckedMetric("m", spec).hash, hash);
  WriteFileAtomic(folder + "/wer.py", "print(1)\n");
  spec.command[2] = "y";
  EXPECT_NE(CheckedMetric("m", spec).hash, hash);
}

}  // namespace
}  // namespace msc::cost
