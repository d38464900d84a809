#include <map>

#include <gtest/gtest.h>

#include "gym/study/study.h"
#include "tests/gym/study/conduct.h"
#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

using testing::Conduct;
using testing::FakeProblem;
using testing::Kind;
using testing::Options;
using testing::RecordsOf;
using testing::SimDisk;
using testing::SimFile;

TEST(Study, ReadsBackFromItsJournalAsItEnded) {
  SimDisk disk;
  FakeProblem problem;
  problem.shuffle_seed = 9;
  const StudyResult result = Conduct(disk, problem, Kind::kFree, Options(60));
  const StudyResult read = ReadStudy(RecordsOf(disk));
  EXPECT_EQ(read.trials, result.trials);
  EXPECT_EQ(read.best, result.best);
  EXPECT_EQ(read.pareto, result.pareto);
  EXPECT_EQ(read.stop, StopReason::kTrials);
}

TEST(Trial, RoundTripsThroughJson) {
  Trial trial;
  trial.number = 18446744073709551615U;
  trial.source = "anchor:a \"quoted\"\nname";
  trial.assignment = {0, 2147483647, 3};
  trial.seconds = 0.1;
  trial.repeated = true;
  trial.finished = 1764000000.125;
  trial.late = true;
  trial.evaluation.metrics = {{"a", 1e-300}, {"b", -0.1}, {"c", 1.7976931348623157e308}};
  const std::string nested = "{\"x\":" + std::string(40, '[') + std::string(40, ']') + "}";
  for (const std::string record :
       {"", "{\"x\":[1,2.5]}", "{ \"spaced\": 1 }", "text", "[1]", "\"s\"", nested.c_str()}) {
    trial.evaluation.record = record;
    EXPECT_EQ(TrialFromJson(ToJson(trial), "record"), trial) << record;
  }
  trial.evaluation = {{}, Failure{FailureKind::kTimeout, "after 30 s"}, ""};
  EXPECT_EQ(TrialFromJson(ToJson(trial), "record"), trial);
}

/// What earlier versions of this program wrote, without the sequence numbers.
std::vector<std::string> Earlier(std::int64_t format, const std::string& trial) {
  return {R"({"agent":"fake","format":)" + std::to_string(format) +
              R"(,"machine":"m","objective":{"minimize":["cost"],"subject_to":[{"limit":30.0,)"
              R"("metric":"error"}]},"problem":"fake-1","seed":7,"tool_version":"1.0",)"
              R"("type":"study"})",
          R"({"pid":1,"trials":2,"type":"start"})",
          R"({"assignment":[0,0,0],"metrics":{"cost":10.0,"error":0.0},"record":{"sum":0},)"
          R"("repeated":false,"seconds":0.5,"source":"anchor:plain","trial":0,"type":"trial"})",
          trial,
          R"({"type":"tick"})",
          R"({"reason":"trials","type":"end"})"};
}

StudyResult ReadJournalOf(const std::vector<std::string>& texts) {
  SimDisk disk;
  for (std::size_t i = 0; i < texts.size(); ++i) disk.written += JournalLine(i, texts[i]);
  disk.durable = disk.written;
  const Journal journal(std::make_unique<SimFile>(disk));
  EXPECT_EQ(journal.records().size(), texts.size());
  return ReadStudy(journal.records());
}

TEST(Study, ReadsAJournalOfFormat1) {
  const StudyResult result = ReadJournalOf(
      Earlier(1, R"({"assignment":[0,0,3],"failure":{"detail":"0 before 3","kind":"unsupported"},)"
                 R"("metrics":{},"repeated":false,"seconds":0.25,"source":"fake","trial":1,)"
                 R"("type":"trial"})"));
  ASSERT_EQ(result.trials.size(), 2U);
  EXPECT_EQ(result.best, 0U);
  EXPECT_EQ(result.stop, StopReason::kTrials);
  EXPECT_EQ(result.trials[0].seconds, 0.5);
  EXPECT_EQ(result.trials[0].finished, 0);
  EXPECT_EQ(result.trials[1].evaluation.failure->detail, "0 before 3");
}

TEST(Study, ReadsARaceOfAJournalOfFormat2) {
  const StudyResult result = ReadJournalOf(
      Earlier(2, R"({"assignment":[1,0,0],"dropped":true,"metrics":{"cost":9.0,"error":1.5},)"
                 R"("repeated":false,"rough":{"cost":9.0,"error":1.5},"seconds":0.25,)"
                 R"("source":"fake","trial":1,"type":"trial"})"));
  ASSERT_EQ(result.trials.size(), 2U);
  const Evaluation& dropped = result.trials[1].evaluation;
  EXPECT_TRUE(dropped.dropped);
  EXPECT_EQ(dropped.rough_metrics,
            (std::vector<std::map<std::string, double>>{{{"cost", 9}, {"error", 1.5}}}));
  EXPECT_EQ(result.best, 0U);
}

struct BadTrial {
  std::string label;
  std::string text;
  std::string error;
};
void PrintTo(const BadTrial& bad, std::ostream* out) {
  *out << bad.label;
}
class BadTrials : public ::testing::TestWithParam<BadTrial> {};

TEST_P(BadTrials, AreRefusedNamingTheKey) {
  EXPECT_EQ(ErrorOf([&] { (void)TrialFromJson(GetParam().text, "record 4"); }), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Trial, BadTrials,
    ::testing::Values(
        BadTrial{"no_json", "{", "record 4 is not valid JSON at line 1, column 2"},
        BadTrial{"list", "[]", "record 4 is not an object"},
        BadTrial{"no_trial", R"({"type":"trial"})", "record 4 has no 'trial'"},
        BadTrial{"negative",
                 R"({"type":"trial","trial":-1,"source":"","assignment":[],"metrics":{}})",
                 "record 4: 'trial' must be an integer that fits, not -1"},
        BadTrial{"failure",
                 R"({"type":"trial","trial":1,"source":"","assignment":[],"metrics":{},)"
                 R"("failure":{"kind":"odd","detail":""}})",
                 "record 4: unknown failure 'odd'"},
        BadTrial{"unknown_key",
                 R"({"type":"trial","trial":1,"source":"","assignment":[],"metrics":{},"x":1})",
                 "record 4: unknown key 'x'; known here: seq, type, trial, source, assignment, "
                 "metrics, failure, seconds, repeated, rungs, dropped, finished"}),
    [](const auto& one) { return one.param.label; });

TEST(Study, RefusesAJournalOfALaterFormat) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(2));
  std::vector<std::string> records = RecordsOf(disk);
  const std::size_t at = records[0].find("\"format\":3");
  ASSERT_NE(at, std::string::npos);
  records[0].replace(at, 10, "\"format\":4");
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }),
            "the journal's header was written by a newer mscgym: its format is 4, known here is 3");
  records[0].replace(at, 10, "\"format\":-7");
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }),
            "the journal's header: 'format' must be at least 1, not -7");
}

struct BadRecord {
  std::string label;
  std::string text;  ///< comes after a good study
  std::string error;
};
void PrintTo(const BadRecord& bad, std::ostream* out) {
  *out << bad.label;
}
class BadRecords : public ::testing::TestWithParam<BadRecord> {};

TEST_P(BadRecords, AreRefusedByTheirNumber) {
  SimDisk disk;
  FakeProblem problem;
  (void)Conduct(disk, problem, Kind::kFree, Options(2));
  std::vector<std::string> records = RecordsOf(disk);
  ASSERT_EQ(records.size(), 5U);  // study, start, two trials, end
  records.push_back(GetParam().text == "study" ? records.front() : GetParam().text);
  EXPECT_EQ(ErrorOf([&] { (void)ReadStudy(records); }), "journal record 5" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Study, BadRecords,
    ::testing::Values(
        BadRecord{"list", "[]", " is not an object"},
        BadRecord{"no_type", R"({"seq":5})", " has no 'type'"},
        BadRecord{"odd_type", R"({"type":[5]})",
                  " is of the type [5], which is unknown here; a newer mscgym may have written it"},
        BadRecord{"new_type", R"({"type":"note"})",
                  " is of the type \"note\", which is unknown here; a newer mscgym may have "
                  "written it"},
        BadRecord{"second_header", "study", " begins a second study"},
        BadRecord{"no_reason", R"({"type":"end"})", " has no 'reason'"},
        BadRecord{"odd_reason", R"({"type":"end","reason":5})", ": unknown reason 5"},
        BadRecord{"seconds",
                  R"({"type":"trial","trial":2,"source":"","assignment":[0,0,0],"metrics":{},)"
                  R"("seconds":-5})",
                  ": 'seconds' must be between 0 and 1000000000, not -5"}),
    [](const auto& one) { return one.param.label; });

TEST(TrialsOf, RefusesANumberThatOccursTwice) {
  Trial trial;
  trial.number = 3;
  const std::vector<std::string> records{ToJson(trial), ToJson(trial)};
  EXPECT_EQ(ErrorOf([&] { (void)TrialsOf(records); }), "the journal has trial 3 twice");
}

}  // namespace
}  // namespace msc::gym
