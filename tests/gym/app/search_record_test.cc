#include "gym/app/search_record.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
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
  findings.finalists.push_back({.trial = trial, .strategy = {}, .result = "{}"});
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

TEST(SearchRecords, OfAnOlderProgramHaveNoFreshSamples) {
  const Findings old = FindSearchRecords(Journal({R"({"type":"findings","findings":{"judged":200,
      "finalists":[{"trial":1,"strategy":{},"result":"{\"outcome\":{\"weight_bytes\":7}}"}]}})"}))
                           .findings.value();
  EXPECT_EQ(old.judged, 200);
  EXPECT_EQ(old.fresh_from, 0);
  EXPECT_TRUE(old.warnings.empty());
  EXPECT_TRUE(old.neighbours.empty());
  EXPECT_EQ(EvaluationOf(old.finalists.at(0)).metrics.at("weight_bytes"), 7);
}

TEST(SearchRecords, AreRefusedByNumber) {
  const auto message = [](const std::string& record) {
    return MessageOf<UserError>([&] { (void)FindSearchRecords(Journal({record})); });
  };
  EXPECT_EQ(message(R"({"type":"setup"})"), "journal record 1 has no 'setup'");
  EXPECT_EQ(message(R"({"type":"setup","setup":{"samples":-1}})"),
            "journal record 1: 'setup.samples' must be at least 0, not -1");
  EXPECT_EQ(message(R"({"type":"findings","findings":[]})"),
            "journal record 1: 'findings' must be an object, not []");
}

TEST(SearchRecords, OfAnOlderJournalLackWhatAReportNeeds) {
  EXPECT_EQ(MessageOf<UserError>([] { (void)SetupIn(FindSearchRecords(Journal({})), "a/b"); }),
            "'a/b' does not say what its search was asked for: it ended before its first trial, or "
            "an older mscgym wrote it");
}

}  // namespace
}  // namespace msc::gym
