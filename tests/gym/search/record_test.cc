#include "gym/search/record.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/study/scan.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

SearchSetup MadeSetup(std::uint64_t trials) {
  SearchSetup setup{.model_hash = "abc",
                    .weight_bytes = 1000,
                    .samples = 200,
                    .decisions = {{.name = "conv", .choices = {"f32", "int8"}}},
                    .layers = {{.name = "conv", .op = "Conv", .shape = "1x8x4x4, 3x3"}}};
  setup.config.trials = trials;
  setup.machine.cpu = "a CPU";
  return setup;
}

Findings Found(std::uint64_t trial) {
  Findings findings;
  findings.finalists.push_back({.trial = trial, .strategy = {}, .result = cost::Outcome{}});
  findings.best = 0;
  findings.kept = {{"conv", 0.5}};
  return findings;
}

/// As the journal gives it back, its sequence number first.
std::string Stored(std::size_t number, const std::string& record) {
  return "{\"seq\":" + std::to_string(number) + "," + record.substr(1);
}

std::vector<std::string> Journal(const std::vector<std::string>& records) {
  std::vector<std::string> stored = {Stored(0, ToJson(StudyHeader{}))};
  for (const std::string& record : records) stored.push_back(Stored(stored.size(), record));
  return stored;
}

TEST(SearchRecords, AreTheLastOfEach) {
  const SearchRecords none = FindSearchRecords(Journal({}));
  EXPECT_FALSE(none.setup);
  EXPECT_FALSE(none.findings);
  const SearchRecords found = FindSearchRecords(Journal(
      {ToRecord(MadeSetup(3)), ToRecord(Found(1)), ToRecord(MadeSetup(4)), ToRecord(Found(2))}));
  EXPECT_EQ(ToRecord(found.setup.value()), ToRecord(MadeSetup(4)));
  EXPECT_EQ(ToRecord(found.findings.value()), ToRecord(Found(2)));
}

TEST(SearchRecords, HoldWhatWasPutIn) {
  const SearchSetup setup = FindSearchRecords(Journal({ToRecord(MadeSetup(3))})).setup.value();
  EXPECT_EQ(setup.config.trials, 3U);
  EXPECT_EQ(setup.machine.cpu, "a CPU");
  EXPECT_EQ(setup.model_hash, "abc");
  EXPECT_EQ(setup.weight_bytes, 1000);
  EXPECT_EQ(setup.samples, 200);
  EXPECT_EQ(setup.decisions, MadeSetup(3).decisions);
  EXPECT_EQ(setup.layers, MadeSetup(3).layers);
  const Findings findings = FindSearchRecords(Journal({ToRecord(Found(7))})).findings.value();
  EXPECT_EQ(findings.finalists.at(0).trial, 7U);
  EXPECT_EQ(findings.best, 0U);
  EXPECT_EQ(findings.kept, Found(7).kept);
}

TEST(SearchRecords, HoldOutcomesAndRecipesAsJsonTexts) {
  Findings findings;
  Compared& compared = findings.compared.emplace_back();
  compared.target = "a";
  compared.best = SpeedRatio{1.5, 1.4, 1.6};
  compared.result = Failure{FailureKind::kUnsupported, "no \"a\""};
  findings.recipes.emplace_back().recipe.epochs = 7;
  const std::string record = ToRecord(findings);
  EXPECT_NE(
      record.find(
          R"("result":"{\"failure\":{\"detail\":\"no \\\"a\\\"\",\"kind\":\"unsupported\"}}")"),
      std::string::npos)
      << record;
  EXPECT_NE(record.find(R"("recipe":"{\"batch\":128,)"), std::string::npos) << record;
  const Findings read = FindSearchRecords(Journal({record})).findings.value();
  EXPECT_EQ(read.compared.at(0).result.failure().detail, "no \"a\"");
  EXPECT_EQ(read.compared.at(0).best.value().low, 1.4);
  EXPECT_EQ(read.recipes.at(0).recipe.epochs, 7);
}

TEST(SearchRecords, OfAnOlderProgramHaveNoFreshSamples) {
  const Findings old = FindSearchRecords(Journal({R"({"type":"findings","findings":{"judged":200,
      "finalists":[{"trial":1,"strategy":{},"result":"{\"outcome\":{\"weight_bytes\":7}}"}]}})"}))
                           .findings.value();
  EXPECT_EQ(old.judged, 200);
  EXPECT_EQ(old.held_out_from, 0);
  EXPECT_TRUE(old.warnings.empty());
  EXPECT_TRUE(old.neighbours.empty());
  EXPECT_EQ(EvaluationOf(old.finalists.at(0)).metrics.at("weight_bytes"), 7);
}

TEST(SearchRecords, AreRefusedByNumber) {
  const auto message = [](const std::string& record) {
    return MessageOf<UserError>([&] { (void)FindSearchRecords(Journal({record})); });
  };
  const std::string advice =
      "; if an older mscgym wrote this journal, make its report with that one, or search again in "
      "a new folder";
  EXPECT_EQ(message(R"({"type":"setup"})"), "journal record 1 has no 'setup'" + advice);
  EXPECT_EQ(message(R"({"type":"setup","setup":{"samples":-1}})"),
            "journal record 1: 'setup.samples' must be at least 0, not -1" + advice);
  EXPECT_EQ(message(R"({"type":"findings","findings":[]})"),
            "journal record 1: 'findings' must be an object, not []" + advice);
}

TEST(SearchRecords, OfAnOlderJournalLackWhatAReportNeeds) {
  EXPECT_EQ(MessageOf<UserError>([] { (void)SetupIn(FindSearchRecords(Journal({})), {}, "a/b"); }),
            "'a/b' does not contain the settings of its search: the search ended before its first "
            "trial, or an older mscgym wrote the file");
}

TEST(SearchRecords, LackWhatADamagedJournalHasLost) {
  const JournalText damaged{.records = {}, .loss = "'a/b' is damaged"};
  EXPECT_EQ(
      MessageOf<UserError>([&] { (void)SetupIn(FindSearchRecords(Journal({})), damaged, "a/b"); }),
      "'a/b' is damaged; the settings of its search are among the lost records");
}

TEST(SearchRecords, OfNoModelAreRefused) {
  SearchSetup setup = MadeSetup(3);
  setup.model_hash.clear();
  const SearchRecords found = FindSearchRecords(Journal({ToRecord(setup)}));
  EXPECT_EQ(MessageOf<UserError>([&] { (void)SetupIn(found, {}, "a/b"); }),
            "'a/b' does not say which model was searched: the model_hash of its record 'setup' is "
            "empty");
}

class ReadingAJournal : public testing::Test {
 protected:
  ReadingAJournal() {
    if (::mkdtemp(folder_.data()) == nullptr) throw SystemError("no folder", errno);
    path_ = folder_ + "/trials.journal";
  }
  ~ReadingAJournal() override { std::filesystem::remove_all(folder_); }
  /// Of a header and two setups.
  static std::vector<std::string> Lines() {
    const std::string setup = ToRecord(MadeSetup(3));
    return {JournalLine(0, ToJson(StudyHeader{})), JournalLine(1, setup), JournalLine(2, setup)};
  }
  JournalText Read(const std::string& bytes) const {
    WriteFileAtomic(path_, bytes);
    return ReadJournal(path_);
  }

  std::string folder_ = testing::TempDir() + "/search_record_XXXXXX";
  std::string path_;
};

TEST_F(ReadingAJournal, TellsWhatIsLeftOut) {
  const auto lines = Lines();
  const std::string whole = lines[0] + lines[1] + lines[2];
  EXPECT_EQ(Read(whole).loss, "");
  EXPECT_EQ(Read(whole.substr(0, whole.size() - 5)).loss, "");  // while it is written
  EXPECT_EQ(Read(whole.substr(0, whole.size() - 5)).records.size(), 2U);
  std::string damaged = whole;
  damaged[lines[0].size() + 30] = '\x01';
  const JournalText text = Read(damaged);
  EXPECT_EQ(text.records.size(), 2U);
  EXPECT_EQ(text.loss, "'" + path_ + "' is damaged, and 1 record is left out: byte " +
                           std::to_string(lines[0].size()) +
                           ", after 1 records: the checksum differs (" +
                           std::to_string(lines[1].size()) + " bytes)");
}

TEST_F(ReadingAJournal, IsRefusedWithoutARecordOrItsFirst) {
  const auto refusal = [&](const std::string& bytes) {
    return MessageOf<UserError>([&] { (void)Read(bytes); });
  };
  EXPECT_EQ(refusal(""), "'" + path_ + "' holds no record");
  EXPECT_EQ(refusal(Lines()[0].substr(0, 20)), "'" + path_ + "' holds no record");
  std::string damaged = Lines()[0] + Lines()[1];
  damaged[5] = 'z';
  const std::string where = "'" + path_ +
                            "' is damaged, and 1 record is left out: byte 0, after 0 records: the "
                            "header is malformed (" +
                            std::to_string(Lines()[0].size()) + " bytes)";
  EXPECT_EQ(refusal(damaged), where + "; its first record, which describes the study, is lost");
  EXPECT_EQ(refusal(damaged.substr(0, Lines()[0].size())), where);
}

}  // namespace
}  // namespace msc::gym
