#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "cost/cache/caching_evaluator.h"

namespace msc::cost {
namespace {

/// Answers with numbers made from the strategy and remembers what it was asked.
class CountingEvaluator final : public Evaluator {
 public:
  std::vector<Candidate> asked;
  std::optional<Failure> failure;

 private:
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    // From the back: a cache must go by the index, not by the order.
    for (std::size_t i = batch.size(); i-- > 0;) {
      if (stop && stop()) return;
      asked.push_back(batch[i]);
      if (failure) {
        done(i, *failure);
        continue;
      }
      Outcome outcome;
      outcome.weight_bytes = static_cast<std::int64_t>(batch[i].strategy.model_hash.size());
      if (batch[i].measure == Measure::kQualityAndLatency) outcome.latency.emplace();
      done(i, outcome);
    }
  }
  [[nodiscard]] std::size_t DoParallelism() const override { return 3; }
};

Candidate Named(const std::string& name, Measure measure = Measure::kQualityAndLatency) {
  Candidate candidate;
  candidate.strategy.model_hash = name;
  candidate.measure = measure;
  return candidate;
}

CacheContext Context() {
  return {"graph", "samples", "cpu", "{}", "1.0", {{"onednn", "2.6"}}};
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "cost_cache/" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }

  std::vector<std::optional<Result<Outcome>>> Ask(const std::vector<Candidate>& batch,
                                                  const std::function<bool()>& stop = {}) {
    CacheContext context = Context();
    context.memory = memory_;
    CachingEvaluator cache(inner_, folder_, context,
                           [this](const std::string& line) { warnings_.push_back(line); });
    std::vector<std::optional<Result<Outcome>>> results(batch.size());
    cache.Evaluate(
        batch,
        [&](std::size_t index, const Result<Outcome>& result) {
          EXPECT_FALSE(results[index].has_value()) << "reported twice";
          results[index] = result;
        },
        stop);
    counts_ = cache.counts();
    return results;
  }

  std::string folder_;
  std::string memory_;
  CountingEvaluator inner_;
  std::vector<std::string> warnings_;
  CachingEvaluator::Counts counts_;
};

TEST_F(Cache, AsksOnlyForWhatItDoesNotKnow) {
  (void)Ask({Named("a"), Named("bb")});
  const auto results = Ask({Named("bb"), Named("ccc"), Named("a")});
  ASSERT_EQ(inner_.asked.size(), 3U);
  EXPECT_EQ(inner_.asked[2].strategy.model_hash, "ccc");
  EXPECT_EQ(results[0]->value().weight_bytes, 2);
  EXPECT_EQ(results[1]->value().weight_bytes, 3);
  EXPECT_EQ(results[2]->value().weight_bytes, 1);
  EXPECT_EQ(counts_.hits, 2);
  EXPECT_EQ(counts_.misses, 1);
}

TEST_F(Cache, AsksOnceForEqualCandidatesOfABatch) {
  const auto results = Ask({Named("a"), Named("bb"), Named("a")});
  EXPECT_EQ(inner_.asked.size(), 2U);
  EXPECT_EQ(results[0]->value(), results[2]->value());
  EXPECT_EQ(results[1]->value().weight_bytes, 2);
}

TEST_F(Cache, AnswersQualityFromAnOutcomeWithLatency) {
  (void)Ask({Named("a")});
  const auto results = Ask({Named("a", Measure::kQuality)});
  EXPECT_EQ(inner_.asked.size(), 1U);
  EXPECT_FALSE(results[0]->value().latency.has_value());
}

TEST_F(Cache, DoesNotAnswerLatencyFromQuality) {
  (void)Ask({Named("a", Measure::kQuality)});
  const auto results = Ask({Named("a")});
  EXPECT_EQ(inner_.asked.size(), 2U);
  EXPECT_TRUE(results[0]->value().latency.has_value());
}

TEST_F(Cache, KeepsOnlyFailuresThatWouldComeAgain) {
  for (const auto kind : {FailureKind::kUnsupported, FailureKind::kCompile, FailureKind::kTimeout,
                          FailureKind::kCrash, FailureKind::kWrongOutput, FailureKind::kOutOfMemory,
                          FailureKind::kLost}) {
    inner_.asked.clear();
    inner_.failure = Failure{kind, "why"};
    const std::string name(Name(kind));
    (void)Ask({Named(name)});
    const auto results = Ask({Named(name)});
    const bool again =
        kind == FailureKind::kTimeout || kind == FailureKind::kCrash || kind == FailureKind::kLost;
    EXPECT_EQ(inner_.asked.size(), again ? 2U : 1U) << name;
    EXPECT_EQ(results[0]->failure(), (Failure{kind, "why"}));
  }
}

TEST_F(Cache, TakesOutOfMemoryForWhatItIsUnderTheSameLimitAlone) {
  memory_ = "1000";
  inner_.failure = Failure{FailureKind::kOutOfMemory, "ran out of memory"};
  (void)Ask({Named("a")});
  EXPECT_EQ(Ask({Named("a")})[0]->failure().kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(inner_.asked.size(), 1U);
  inner_.failure.reset();
  memory_ = "2000";
  EXPECT_TRUE(Ask({Named("a")})[0]->ok());
  EXPECT_EQ(inner_.asked.size(), 2U);
  memory_ = "1000";
  EXPECT_TRUE(Ask({Named("a")})[0]->ok()) << "an outcome holds under every limit";
  EXPECT_EQ(inner_.asked.size(), 2U);
}

TEST_F(Cache, DoesNotTrustWhatEarlierVersionsKept) {
  // The key of versions that took a killed child for one without memory.
  const Candidate candidate = Named("a");
  const std::string& target = candidate.strategy.target;
  Sha256 hash;
  for (const std::string& part :
       {std::string("msc-outcome-1"), std::string("graph"), std::string("samples"),
        std::string("cpu"), std::string("{}"), std::string("1.0"), target, std::string("2.6"),
        StrategyHash(candidate.strategy), std::string("quality+latency")}) {
    hash.Add(std::to_string(part.size()) + ":" + part);
  }
  const OutcomeStore store(folder_);
  store.Put(hash.Hex(), R"({"failure":{"detail":"killed by the system","kind":"out_of_memory"}})");
  EXPECT_TRUE(Ask({Named("a")})[0]->ok());
  EXPECT_EQ(inner_.asked.size(), 1U);
}

TEST_F(Cache, MeasuresAgainWhatIsDamagedAndSaysSo) {
  (void)Ask({Named("a")});
  const std::string path = OutcomeStore(folder_).PathOf(CacheKey(Context(), Named("a")));
  const std::string good = ReadFile(path);
  for (std::size_t i = 0; i < good.size(); i += 41) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    WriteFileAtomic(path, bad);
    warnings_.clear();
    inner_.asked.clear();
    const auto results = Ask({Named("a")});
    EXPECT_EQ(results[0]->value().weight_bytes, 1) << "byte " << i;
    EXPECT_EQ(inner_.asked.size(), 1U) << "byte " << i;
    EXPECT_EQ(warnings_, std::vector<std::string>{"the cache entry '" + path +
                                                  "' is damaged; measuring again"});
    EXPECT_EQ(ReadFile(path), good) << "byte " << i;
  }
}

TEST_F(Cache, DoesNotTakeAnEntryThatWasMovedForAnother) {
  (void)Ask({Named("a")});
  const OutcomeStore store(folder_);
  const std::string other = store.PathOf(CacheKey(Context(), Named("bb")));
  MakeFolders(std::filesystem::path(other).parent_path().string());
  WriteFileAtomic(other, ReadFile(store.PathOf(CacheKey(Context(), Named("a")))));
  EXPECT_EQ(Ask({Named("bb")})[0]->value().weight_bytes, 2);
  EXPECT_EQ(counts_.damaged, 1);
}

TEST_F(Cache, ListsItsEntriesAndNothingElse) {
  const OutcomeStore store(folder_);
  const std::string low(64, '0');
  const std::string high(64, 'e');
  store.Put(high, "{}");
  store.Put(low, "{}");
  for (const char* stray : {"/notes.json", "/ee/notes.json", "/samples", "/f0"}) {
    WriteFileAtomic(folder_ + stray, "x");
  }
  EXPECT_EQ(store.Keys(), (std::vector<std::string>{low, high}));
  EXPECT_TRUE(OutcomeStore(folder_ + "/new").Keys().empty());
}

TEST_F(Cache, GoesOnWhereNothingCanBeKept) {
  (void)Ask({});
  const std::string key = CacheKey(Context(), Named("a"));
  // A file where the folder of the entry must be.
  WriteFileAtomic(folder_ + "/" + key.substr(0, 2), "in the way");
  EXPECT_EQ(Ask({Named("a")})[0]->value().weight_bytes, 1);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_TRUE(warnings_[0].starts_with("cannot keep an outcome: ")) << warnings_[0];
}

TEST_F(Cache, StopsWhenItIsTold) {
  (void)Ask({Named("a")});
  const auto results = Ask({Named("a"), Named("bb")}, [] { return true; });
  EXPECT_FALSE(results[0].has_value());
  EXPECT_FALSE(results[1].has_value());
}

TEST_F(Cache, TellsTheParallelismOfWhoMeasures) {
  EXPECT_EQ(CachingEvaluator(inner_, folder_, Context()).parallelism(), 3U);
}

TEST(CacheKey, DependsOnEverythingThatDecidesAnOutcome) {
  std::vector<std::string> keys = {CacheKey(Context(), Named("a"))};
  const auto with = [&keys](const std::function<void(CacheContext&)>& change) {
    CacheContext context = Context();
    change(context);
    keys.push_back(CacheKey(context, Named("a")));
  };
  with([](CacheContext& c) { c.graph_hash = "x"; });
  with([](CacheContext& c) { c.samples_hash = "x"; });
  with([](CacheContext& c) { c.cpu = "x"; });
  with([](CacheContext& c) { c.settings = "x"; });
  with([](CacheContext& c) { c.program = "x"; });
  with([](CacheContext& c) { c.targets["onednn"] = "x"; });
  // Parts that run together in another way.
  with([](CacheContext& c) {
    c.graph_hash = "graphs";
    c.samples_hash = "amples";
  });
  keys.push_back(CacheKey(Context(), Named("b")));
  keys.push_back(CacheKey(Context(), Named("a", Measure::kQuality)));
  keys.push_back(CacheKey(Context(), Named("a", Measure::kRough)));
  keys.push_back(CacheKey(Context(), Named("a", Measure::kRoughest)));
  keys.push_back(CacheKey(Context(), Named("a", Measure::kProbe)));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST(CacheKey, IgnoresTargetsThatAreNotInUse) {
  CacheContext context = Context();
  context.targets["reference"] = "9";
  EXPECT_EQ(CacheKey(context, Named("a")), CacheKey(Context(), Named("a")));
}

TEST(CacheKey, WantsTheVersionOfTheTarget) {
  Candidate candidate = Named("a");
  candidate.strategy.target = "unheard of";
  EXPECT_THROW((void)CacheKey(Context(), candidate), InternalError);
}

}  // namespace
}  // namespace msc::cost
