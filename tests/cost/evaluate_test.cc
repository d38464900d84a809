#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/base/sanitizer.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/samples.h"
#include "compiler/targets/register.h"
#include "cost/measure/build.h"
#include "cost/measure/evaluate_child.h"
#include "cost/measure/local_evaluator.h"
#include "tests/support/labels.h"

namespace msc::cost {
namespace {

constexpr const char* kModel = R"(graph tiny {
  input %x : f32[batch,12]
  const %w1 : f32[12,16] = random 1
  const %b1 : f32[16] = random 2
  const %w2 : f32[16,4] = random 3
  const %b2 : f32[4] = random 4
  %h = Gemm(%x, %w1, %b1) @hidden : f32[batch,16]
  %r = Relu(%h) @relu : f32[batch,16]
  %y = Gemm(%r, %w2, %b2) @logits : f32[batch,4]
  output %y
})";

double LossOf(const Quality& quality, std::string_view name) {
  return quality.Loss(name).value().value;
}
/// Returns the squared error relative to the variance.
double SquareOf(const Quality& quality) {
  const double error = LossOf(quality, "relative_error");
  return error * error;
}

TargetRegistry Targets() {
  TargetRegistry targets;
  RegisterAllTargets(targets);
  return targets;
}

SampleSet Samples(std::int64_t count) {
  Rng rng(3);
  SampleSet samples{{Tensor(DType::kF32, {count, 12})}, {}};
  for (float& value : samples.inputs[0].MutableValues<float>()) {
    value = static_cast<float>(rng.Normal());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    samples.labels.push_back(static_cast<std::int32_t>(rng.Below(4)));
  }
  samples.all_labels = {ClassFile(samples.labels)};
  return samples;
}

EvaluationSettings Settings() {
  EvaluationSettings settings;
  settings.target = "reference";
  settings.samples = 10;
  settings.batch = 4;
  settings.quality_ms = 60'000;
  settings.latency_ms = 60'000;
  settings.latency.min_rounds = 3;
  settings.latency.max_rounds = 5;
  settings.latency.min_epoch_us = 100;
  settings.latency.max_warmup_ms = 5;
  settings.latency.max_ms = 200;
  return settings;
}

Candidate On(const std::string& target, Measure measure = Measure::kQuality) {
  Candidate candidate;
  candidate.strategy.target = target;
  candidate.measure = measure;
  return candidate;
}

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "cost_evaluate/" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }

  PreparedFolder Prepare(const EvaluationSettings& settings = Settings()) {
    const Graph graph = ParseGraph(kModel);
    const SampleSet samples = Samples(23);
    return PrepareFolder(folder_ + "/prepared", {&graph, &samples, settings}, Targets());
  }
  [[nodiscard]] LocalOptions Options() const {
    LocalOptions options;
    options.folder = folder_ + "/prepared";
    options.child = {MSC_MEASURE_CHILD, "measure-child"};
    options.lock_folder = folder_;
    options.scratch = folder_;
    return options;
  }
  Result<Outcome> EvaluateOne(const Candidate& candidate) {
    LocalEvaluator evaluator(Options());
    std::vector<Result<Outcome>> results;
    // The system may end a child where memory is short, which says nothing about the candidate.
    for (int i = 0; i < 3; ++i) {
      results.clear();
      evaluator.Evaluate({&candidate, 1}, [&](std::size_t index, const Result<Outcome>& result) {
        EXPECT_EQ(index, 0U);
        results.push_back(result);
      });
      EXPECT_EQ(results.size(), 1U);
      if (results.at(0).ok() || results.at(0).failure().kind != FailureKind::kLost) break;
    }
    return results.at(0);
  }
  /// Files other than the prepared ones and the locks.
  [[nodiscard]] std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "prepared" && !name.ends_with(".lock")) names.push_back(name);
    }
    return names;
  }

  std::string folder_;
};

TEST_F(Evaluate, PreparesAFolderThatReadsBack) {
  const PreparedFolder written = Prepare();
  const PreparedFolder folder = OpenFolder(folder_ + "/prepared");
  EXPECT_EQ(folder.samples, 23);
  EXPECT_EQ(folder.outputs, 1);
  EXPECT_TRUE(folder.labelled);
  EXPECT_EQ(folder.settings, Settings());
  EXPECT_EQ(folder.graph_hash, GraphHash(ParseGraph(kModel)));
  EXPECT_EQ(folder.samples_hash, written.samples_hash);
  EXPECT_TRUE(SameGraph(LoadCanonical(folder), ParseGraph(kModel)));
  const SampleSet samples = Samples(23);
  EXPECT_EQ(LoadInputs(folder, {}), samples.inputs);
  EXPECT_EQ(LoadLabels(folder, {20, 2}),
            std::vector<std::int32_t>(samples.labels.begin() + 20, samples.labels.begin() + 22));
  const std::vector<OutputLabels> labels = LoadOutputLabels(folder, {20, 2});
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].numbers.values,
            std::vector<float>(samples.labels.begin() + 20, samples.labels.begin() + 22));
  EXPECT_EQ(labels[0].numbers.ends, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(Evaluate, StoresReferenceOutputsThatDoNotDependOnTheBatch) {
  const PreparedFolder folder = Prepare();
  const Graph graph = ParseGraph(kModel);
  const SampleSet samples = Samples(23);
  EvaluationSettings settings = Settings();
  settings.batch = 23;
  const auto whole = ReferenceOutputs({&graph, &samples, settings}, Targets());
  const auto stored = LoadReference(folder, {});
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].dims(), (Dims{23, 4}));
  for (std::size_t i = 0; i < 23 * 4; ++i) {
    EXPECT_NEAR(stored[0].Values<float>()[i], whole[0].Values<float>()[i], 1e-4);
  }
}

TEST_F(Evaluate, RefusesAFolderThatIsNotComplete) {
  Prepare();
  std::filesystem::remove(folder_ + "/prepared/evaluation.json");
  EXPECT_THROW(LocalEvaluator{Options()}, UserError);
}

TEST_F(Evaluate, FindsTheUncompressedModelPerfect) {
  Prepare();
  const auto result = EvaluateOne(On("reference"));
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  const Outcome& outcome = result.value();
  EXPECT_NEAR(LossOf(outcome.quality, "distill_loss"), 0, 1e-9);
  EXPECT_EQ(LossOf(outcome.quality, "disagreement"), 0);
  EXPECT_EQ(outcome.quality.samples, 10);
  EXPECT_EQ(outcome.quality.accuracy, outcome.quality.reference_accuracy);
  EXPECT_FALSE(outcome.latency.has_value());
  EXPECT_EQ(outcome.weight_bytes, 4 * (12 * 16 + 16 + 16 * 4 + 4));
  EXPECT_GT(outcome.peak_bytes, 0);
  EXPECT_TRUE(Leftovers().empty());
}

TEST_F(Evaluate, MeasuresTimeAgainstTheUncompressedModel) {
  Candidate candidate = On("reference", Measure::kQualityAndLatency);
  candidate.strategy.model_hash = Prepare().graph_hash;
  const auto result = EvaluateOne(candidate);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  ASSERT_TRUE(result.value().latency.has_value());
  EXPECT_GT(result.value().latency->median_ns, 0);
  EXPECT_GT(result.value().latency->ratio, 0);
  EXPECT_GE(result.value().latency->rounds, 3);
  EXPECT_EQ(result.value().quality.samples, 10);
}

TEST_F(Evaluate, MeasuresRoughlyOnAQuarterOfTheSamplesOrASixteenth) {
  Prepare();
  for (const auto& [measure, samples] :
       {std::pair(Measure::kRough, 3), std::pair(Measure::kRoughest, 1)}) {
    const auto result = EvaluateOne(On("reference", measure));
    ASSERT_TRUE(result.ok()) << result.failure().detail;
    EXPECT_EQ(result.value().quality.samples, samples) << "of 10, rounded up";
    ASSERT_TRUE(result.value().latency.has_value());
    EXPECT_GE(result.value().latency->rounds, 3);
  }
}

TEST_F(Evaluate, ProbesOnFewSamplesWithoutTiming) {
  const Graph graph = ParseGraph(kModel);
  const SampleSet samples = Samples(40);
  for (const auto& [asked, judged] : {std::pair(36, 32), std::pair(10, 10)}) {
    EvaluationSettings settings = Settings();
    settings.samples = asked;
    (void)PrepareFolder(folder_ + "/prepared", {&graph, &samples, settings}, Targets());
    const auto result = EvaluateOne(On("reference", Measure::kProbe));
    ASSERT_TRUE(result.ok()) << result.failure().detail;
    EXPECT_EQ(result.value().quality.samples, judged);
    EXPECT_FALSE(result.value().latency.has_value());
  }
}

TEST_F(Evaluate, WaitsForWhatTimingIsPlannedToTake) {
  EvaluationSettings settings = Settings();
  settings.latency_ms = 1;  // less than any child takes
  settings.latency.max_ms = 60'000;
  Prepare(settings);
  LocalEvaluator evaluator(Options());
  for (const auto& result : evaluator.TimeTogether({On("reference").strategy})) {
    EXPECT_TRUE(result.ok()) << result.failure().detail;
  }
}

/// A child that dies of the signal in its first `times` starts, and then is the child `real`.
std::vector<std::string> Harmed(const std::string& folder, const std::string& signal, int times,
                                const std::vector<std::string>& real) {
  const std::string script = folder + "/harmed.sh";
  const std::string count = folder + "/prepared/starts";
  WriteFileAtomic(count, "0\n");
  WriteFileAtomic(script, "read n < " + count + "\necho $((n + 1)) > " + count + "\n[ $n -ge " +
                              std::to_string(times) + " ] || kill -" + signal +
                              " $$\nexec \"$@\"\n");
  std::vector<std::string> child = {"/bin/sh", script};
  child.insert(child.end(), real.begin(), real.end());
  return child;
}

TEST_F(Evaluate, TriesAgainWhatOthersKilledOrStopped) {
  Prepare();
  const Candidate candidate = On("reference", Measure::kQualityAndLatency);
  for (const std::string signal : {"KILL", "TERM", "STOP"}) {
    LocalOptions options = Options();
    options.child = Harmed(folder_, signal, signal == "STOP" ? 1 : 2, options.child);
    LocalEvaluator evaluator(options);
    std::vector<Result<Outcome>> results;
    evaluator.Evaluate({&candidate, 1}, [&](std::size_t /*index*/, const Result<Outcome>& result) {
      results.push_back(result);
    });
    ASSERT_EQ(results.size(), 1U);
    EXPECT_TRUE(results[0].ok()) << signal << ": " << results[0].failure().detail;
  }
}

TEST_F(Evaluate, GivesUpWhatOthersKillTimeAfterTimeAndTakesNothingFromIt) {
  Prepare();
  LocalOptions options = Options();
  options.child = Harmed(folder_, "KILL", 1000, options.child);
  LocalEvaluator evaluator(options);
  const auto judged = evaluator.Judge(On("reference").strategy, {});
  ASSERT_TRUE(judged && !judged->ok());
  EXPECT_EQ(judged->failure(),
            (Failure{FailureKind::kLost,
                     "given up after 6 tries; the last: killed from outside by SIGKILL"}));
}

TEST_F(Evaluate, StopsWhileItWaitsToTryAgain) {
  Prepare();
  LocalOptions options = Options();
  options.child = Harmed(folder_, "KILL", 1000, options.child);
  LocalEvaluator evaluator(options);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(evaluator.Judge(On("reference").strategy, {}, [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300);
  }));
}

TEST_F(Evaluate, GivesChildrenTenTimesWhatTheUncompressedModelTook) {
  PreparedFolder folder;
  folder.samples = 1000;
  folder.build_ms = 500;
  folder.run_ms = 20'000;
  folder.settings.latency.min_rounds = 9;
  folder.settings.latency.max_ms = 700;
  folder.settings.latency.max_warmup_ms = 100;
  ChildRequest request;
  request.strategies.resize(1);
  request.samples = 100;
  using std::chrono::milliseconds;
  // Built twice, and 2 s on a hundred samples.
  EXPECT_EQ(ChildTimeLimits(request, folder).idle, milliseconds(30'000));
  EXPECT_EQ(ChildTimeLimits(request, folder).whole, milliseconds(300'000));
  request.most = 500;
  EXPECT_EQ(ChildTimeLimits(request, folder).idle, milliseconds(110'000));
  folder.run_ms = 200'000;
  EXPECT_EQ(ChildTimeLimits(request, folder).whole, milliseconds(1'010'000));
  request.first = 990;
  EXPECT_EQ(ChildTimeLimits(request, folder).idle, milliseconds(30'000)) << "10 samples are left";

  request.mode = ChildMode::kLatency;
  request.repeats = 2;
  // Two models, each built and run 21 times, and what is planned.
  EXPECT_EQ(ChildTimeLimits(request, folder).idle, milliseconds(94'000));
  EXPECT_EQ(ChildTimeLimits(request, folder).whole, milliseconds(300'000 + 2 * (700 + 200)));
  folder.build_ms = folder.run_ms = 0;
  EXPECT_EQ(ChildTimeLimits(request, folder).idle, milliseconds(3000)) << "a machine may be busy";

  request.mode = ChildMode::kFit;
  request.strategies[0].fit.train.epochs = 2;
  EXPECT_EQ(ChildTimeLimits(request, folder).whole, milliseconds(900'000));
}

TEST_F(Evaluate, KnowsWhatTheUncompressedModelTook) {
  const PreparedFolder folder = Prepare();
  EXPECT_GT(folder.build_ms, 0);
  EXPECT_GT(folder.run_ms, 0);
  EXPECT_LT(folder.build_ms + folder.run_ms, 60'000);
}

TEST_F(Evaluate, NoticesAChildThatDoesNothingLongBeforeItsTimeIsUp) {
  Prepare();
  const auto result = EvaluateOne(On("hangs"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure(), (Failure{FailureKind::kTimeout, "did nothing for 3000 ms"}));
}

TEST_F(Evaluate, LimitsTheMemoryOfChildren) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more address space than any limit";
  PreparedFolder folder = Prepare();
  LocalOptions options = Options();
  const auto judge = [&] {
    return LocalEvaluator(options).Judge(On("greedy").strategy, {}).value();
  };
  options.memory_mb = 256;
  EXPECT_EQ(judge().failure(),
            (Failure{FailureKind::kOutOfMemory,
                     "out of memory while compiling; a child may use 256 MB (memory_mb)"}));
  SetMemory(folder, 4096);
  EXPECT_EQ(OpenFolder(folder.path).settings.memory_mb, 4096);
  EXPECT_TRUE(judge().ok()) << "the settings come first: " << judge().failure().detail;
}

struct Harm {
  std::string target;
  FailureKind kind;
  std::string detail;
};
void PrintTo(const Harm& harm, std::ostream* out) {
  *out << harm.target;
}
class HarmfulCandidate : public Evaluate, public testing::WithParamInterface<Harm> {
 protected:
  void SetUp() override {
    Evaluate::SetUp();
    folder_ = testing::TempDir() + "cost_evaluate/harm_" + GetParam().target;
    std::filesystem::remove_all(folder_);
  }
};

TEST_P(HarmfulCandidate, IsAFailureAndNoMore) {
  EvaluationSettings settings = Settings();
  if (GetParam().target == "hangs") settings.quality_ms = 1000;
  Prepare(settings);
  const auto result = EvaluateOne(On(GetParam().target, Measure::kQualityAndLatency));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure().kind, GetParam().kind) << result.failure().detail;
  EXPECT_TRUE(result.failure().detail.starts_with(GetParam().detail)) << result.failure().detail;
  EXPECT_TRUE(Leftovers().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, HarmfulCandidate,
    testing::Values(Harm{"refuses", FailureKind::kCompile, "not today"},
                    Harm{"throws", FailureKind::kCompile, "a library lost its temper"},
                    Harm{"crashes", FailureKind::kCrash, "died of SIGSEGV"},
                    Harm{"hangs", FailureKind::kTimeout, "no answer within 1000 ms"},
                    Harm{"nan", FailureKind::kWrongOutput, "output 'y' is not finite"},
                    Harm{"zero", FailureKind::kWrongOutput, "an output never changes"},
                    Harm{"off", FailureKind::kWrongOutput, "an output is off by "}),
    [](const auto& test) { return test.param.target; });

TEST_F(Evaluate, ReportsEveryCandidateOfABatchInItsPlace) {
  Prepare();
  LocalEvaluator evaluator(Options());
  const std::vector<Candidate> batch = {On("reference"), On("nan"), On("reference")};
  std::vector<std::optional<Result<Outcome>>> results(3);
  evaluator.Evaluate(
      batch, [&](std::size_t index, const Result<Outcome>& result) { results[index] = result; });
  EXPECT_TRUE(results[0]->ok());
  EXPECT_FALSE(results[1]->ok());
  EXPECT_TRUE(results[2]->ok());
}

TEST_F(Evaluate, ThrowsWhereTheStrategyIsForAnotherModel) {
  Prepare();
  Candidate candidate = On("reference");
  candidate.strategy.model_hash = std::string(64, '0');
  EXPECT_THROW((void)EvaluateOne(candidate), UserError);
}

TEST_F(Evaluate, ThrowsWhereTheTargetIsUnknown) {
  Prepare();
  EXPECT_THROW((void)EvaluateOne(On("abacus")), UserError);
}

TEST_F(Evaluate, StopsInTheMiddleOfACandidate) {
  Prepare();
  LocalEvaluator evaluator(Options());
  const std::vector<Candidate> batch = {On("hangs"), On("reference")};
  const auto start = std::chrono::steady_clock::now();
  int reported = 0;
  evaluator.Evaluate(
      batch, [&](std::size_t, const Result<Outcome>&) { ++reported; },
      [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300); });
  EXPECT_EQ(reported, 0);
  EXPECT_TRUE(Leftovers().empty());
}

TEST_F(Evaluate, StopsWhileItWaitsForCores) {
  Prepare();
  LocalOptions options = Options();
  options.latency_cores = {0};
  LocalEvaluator evaluator(options);
  const auto held = LockCores(folder_, {0}, CoreUse::kShared);
  std::atomic<bool> stop = false;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    stop = true;
  });
  int reported = 0;
  const Candidate candidate = On("reference", Measure::kQualityAndLatency);
  evaluator.Evaluate(
      {&candidate, 1}, [&](std::size_t, const Result<Outcome>&) { ++reported; },
      [&] { return stop.load(); });
  EXPECT_EQ(reported, 0);
}

TEST_F(Evaluate, MeasuresEnergyWhileNobodyElseWorks) {
  const int other = 0;  // a core that it does not run on
  for (const bool energy : {false, true}) {
    std::filesystem::remove_all(folder_);
    EvaluationSettings settings = Settings();
    settings.energy = energy;
    Prepare(settings);
    const auto neighbour = LockCores(folder_, {other}, CoreUse::kShared);
    LocalEvaluator evaluator(Options());
    int asked = 0;
    const auto timed =
        evaluator.TimeTogether({On("reference").strategy}, [&] { return energy && ++asked > 3; });
    EXPECT_EQ(timed.size(), energy ? 0U : 1U);
    EXPECT_EQ(asked, energy ? 4 : 0) << "it waits for the neighbour";
  }
}

TEST_F(Evaluate, LooksAtMoreSamplesWhileALimitIsOpen) {
  struct Row {
    double limit;  // of a model that loses nothing
    std::int64_t most;
    Measure measure;
    std::int64_t seen;
  };
  // With none of 10 samples lost, one of 23 may be; with none of 20, about a sixth of one.
  for (const Row& row :
       {Row{30, 0, Measure::kQualityAndLatency, 10}, Row{5, 0, Measure::kQualityAndLatency, 20},
        Row{1, 0, Measure::kQualityAndLatency, 23}, Row{1, 15, Measure::kQualityAndLatency, 15},
        Row{1, 0, Measure::kQuality, 10}, Row{1, 0, Measure::kRough, 3}}) {
    std::filesystem::remove_all(folder_);
    EvaluationSettings settings = Settings();
    settings.limits = {{"accuracy_drop", row.limit}};
    settings.most_samples = row.most;
    Prepare(settings);
    const auto result = EvaluateOne(On("reference", row.measure));
    ASSERT_TRUE(result.ok()) << result.failure().detail;
    EXPECT_EQ(result.value().quality.samples, row.seen) << row.limit;
    EXPECT_EQ(LossOf(result.value().quality, "accuracy_drop"), 0.0);
  }
}

TEST_F(Evaluate, JudgesFinalistsOnAllSamplesAndTimesThemTogether) {
  Prepare();
  LocalEvaluator evaluator(Options());
  const Strategy sound = On("reference").strategy;
  const Strategy unsound = On("nan").strategy;
  EXPECT_EQ(evaluator.Judge(unsound, {})->failure().kind, FailureKind::kWrongOutput);
  const auto judged = evaluator.Judge(sound, {});
  ASSERT_TRUE(judged && judged->ok());
  EXPECT_EQ(judged->value().quality.samples, 23);
  EXPECT_FALSE(judged->value().latency);
  EXPECT_EQ(evaluator.Judge(sound, {.first = 20})->value().quality.samples, 3);
  EXPECT_THROW((void)evaluator.Judge(sound, {.first = 23}), UserError);
  const auto timed = evaluator.TimeTogether({sound, unsound, sound});
  ASSERT_EQ(timed.size(), 3U);
  EXPECT_EQ(timed[1].failure().kind, FailureKind::kWrongOutput);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    ASSERT_TRUE(timed[i].ok()) << timed[i].failure().detail;
    // Three repeats of at least three rounds.
    EXPECT_GE(timed[i].value().latency.value().rounds, 9);
  }
  EXPECT_EQ(timed[0].value().latency->reference_median_ns,
            timed[2].value().latency->reference_median_ns);
}

TEST_F(Evaluate, TellsFreshSamplesApartByTheSameOutputs) {
  const TargetRegistry targets = Targets();
  if (targets.absent().contains("onednn")) GTEST_SKIP() << targets.absent().at("onednn");
  EvaluationSettings settings = Settings();
  settings.bf16_tolerance = 1;
  Prepare(settings);
  LocalEvaluator evaluator(Options());
  Strategy bf16;
  bf16.target = "onednn";
  bf16.quantize.layers = {{"hidden", Precision::kBF16}, {"logits", Precision::kBF16}};
  const Outcome whole = evaluator.Judge(bf16, {})->value();
  const Outcome part = evaluator.Judge(bf16, {.first = 14})->value();
  const Outcome both = evaluator.Judge(bf16, {.first = 0, .held_out = 14})->value();
  ASSERT_GT(LossOf(part.quality, "distill_loss"), 0);
  EXPECT_FALSE(whole.held_out);
  ASSERT_TRUE(both.held_out);
  EXPECT_EQ(both.quality.samples, 23);
  EXPECT_EQ(both.held_out->samples, 9);
  EXPECT_NEAR(LossOf(both.quality, "distill_loss"), LossOf(whole.quality, "distill_loss"),
              1e-9 * LossOf(whole.quality, "distill_loss"));
  EXPECT_NEAR(LossOf(*both.held_out, "distill_loss"), LossOf(part.quality, "distill_loss"),
              1e-9 * LossOf(part.quality, "distill_loss"));
  EXPECT_EQ(both.held_out->accuracy, part.quality.accuracy);
  EXPECT_FALSE(evaluator.Judge(bf16, {.first = 0, .held_out = 23})->value().held_out)
      << "there are none";
  const Outcome other = evaluator.Judge(bf16, {.first = 14, .held_out = 14})->value();
  EXPECT_EQ(other.held_out, other.quality);
}

TEST_F(Evaluate, FindsTheSamplesThatChangeMost) {
  (void)Prepare();
  LocalEvaluator evaluator(Options());
  EXPECT_EQ(evaluator.FindChanged(On("reference").strategy, 0, "distill_loss").value(),
            std::vector<ChangedSample>())
      << "the uncompressed model changes none";
  Strategy bf16 = On("reference").strategy;
  bf16.quantize.layers = {{"hidden", Precision::kBF16}, {"logits", Precision::kBF16}};
  const std::vector<ChangedSample> all = evaluator.FindChanged(bf16, 0, "distill_loss").value();
  ASSERT_EQ(all.size(), 8U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i - 1].change, all[i].change);
  for (const ChangedSample& changed : evaluator.FindChanged(bf16, 20, "distill_loss").value()) {
    EXPECT_GE(changed.sample, 20);
    EXPECT_EQ(changed.measure, "distill_loss");
  }
  Strategy unknown = bf16;
  unknown.target = "broken";
  EXPECT_THROW((void)evaluator.FindChanged(unknown, 0, "distill_loss"), UserError);
}

TEST_F(Evaluate, FitsPrunedCandidatesToTheCalibrationSamples) {
  const Graph graph = ParseGraph(kModel);
  const SampleSet samples = Samples(23);
  const std::vector<Tensor> whole = Samples(64).inputs;
  const TensorSamples calibration(whole);
  FitOptions fit;
  fit.target = "reference";
  fit.batch = 16;
  fit.ridge = 1e-6;
  const PreparedFolder folder = PrepareFolder(
      folder_ + "/prepared", {&graph, &samples, Settings(), &calibration, fit}, Targets());
  fit.forms = folder.forms;  // follow from the outputs
  EXPECT_EQ(folder.fit_hash, FitHash(calibration, fit));
  EXPECT_EQ(folder.fit, fit);
  EXPECT_EQ(OpenCalibration(folder)->Read(0, 64), calibration.Read(0, 64));
  EXPECT_EQ(OpenCalibration(folder)->Read(60, 3), calibration.Read(60, 3));

  Candidate bare = On("reference", Measure::kQualityAndLatency);
  PruneChoice& kept = bare.strategy.prune.groups["hidden"];
  kept.units = 16;
  for (std::int64_t i = 0; i < 14; ++i) kept.keep.push_back(i);
  const auto plain = EvaluateOne(bare);
  ASSERT_TRUE(plain.ok()) << plain.failure().detail << ": its error is for the search to weigh";
  Candidate candidate = bare;
  candidate.strategy.fit.samples = folder.fit_hash;
  const auto fitted = EvaluateOne(candidate);
  ASSERT_TRUE(fitted.ok()) << fitted.failure().detail;
  EXPECT_LT(SquareOf(fitted.value().quality), 0.7 * SquareOf(plain.value().quality));
  EXPECT_EQ(fitted.value().weight_bytes, plain.value().weight_bytes);
  EXPECT_TRUE(fitted.value().latency.has_value());

  // By itself, for finalists and for whoever keeps the weights.
  LocalEvaluator evaluator(Options());
  const auto strategy = evaluator.Fit(candidate.strategy);
  ASSERT_TRUE(strategy && strategy->ok());
  EXPECT_NE(strategy->value().fit.values, nullptr);
  EXPECT_EQ(strategy->value(),
            FitStrategy(graph, candidate.strategy, calibration, fit, Targets()).value());
  const std::vector<Strategy> finalists = {strategy->value(), bare.strategy};
  EXPECT_LT(SquareOf(evaluator.Judge(finalists[0], {})->value().quality),
            0.7 * SquareOf(evaluator.Judge(finalists[1], {})->value().quality));
  EXPECT_EQ(evaluator.TimeTogether(finalists).size(), 2U);
  EXPECT_TRUE(evaluator.ProfileSteps(finalists, 2).ok());
  EXPECT_TRUE(Leftovers().empty());

  // What is kept is read, not fitted again; what cannot be read is fitted.
  LocalOptions keeping = Options();
  keeping.fits = (std::filesystem::path(::testing::TempDir()) / "fits_of_evaluate_test").string();
  std::filesystem::remove_all(keeping.fits);
  LocalEvaluator keeper(keeping);
  EXPECT_EQ(keeper.Fit(candidate.strategy)->value(), strategy->value());
  const std::string file = keeping.fits + "/" + StrategyHash(candidate.strategy) + ".json";
  Strategy other = LoadStrategy(file);
  EXPECT_EQ(other, strategy->value());
  other.target = "native";
  SaveStrategy(other, file);
  EXPECT_EQ(keeper.Fit(candidate.strategy)->value(), other);
  WriteFileAtomic(file, "{");
  EXPECT_EQ(keeper.Fit(candidate.strategy)->value(), strategy->value());
  EXPECT_EQ(LoadStrategy(file), strategy->value());
  std::filesystem::remove_all(keeping.fits);
  candidate.strategy.fit.samples = std::string(64, '0');
  EXPECT_THROW((void)EvaluateOne(candidate), UserError);
}

TEST_F(Evaluate, ProfilesEveryStep) {
  Prepare();
  LocalEvaluator evaluator(Options());
  const std::vector<Strategy> strategies = {On("reference").strategy, On("nan").strategy};
  const auto profiles = evaluator.ProfileSteps(strategies, 3);
  ASSERT_TRUE(profiles.ok()) << profiles.failure().detail;
  ASSERT_EQ(profiles.value().size(), 3U);
  EXPECT_EQ(profiles.value()[2].failure, "output 'y' is not finite");
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    std::vector<std::string> nodes;
    for (const StepProfile& step : profiles.value()[i].steps) {
      EXPECT_EQ(step.target, "reference");
      EXPECT_GE(step.median_ns, 0);
      nodes.insert(nodes.end(), step.nodes.begin(), step.nodes.end());
    }
    EXPECT_EQ(nodes, (std::vector<std::string>{"hidden", "relu", "logits"}));
  }
}

TEST_F(Evaluate, LeavesNoTraceInTheResultOfHowTheSamplesAreCut) {
  EvaluationSettings settings = Settings();
  settings.samples = 0;
  Prepare(settings);
  const auto cut = EvaluateOne(On("reference"));
  ASSERT_TRUE(cut.ok()) << cut.failure().detail;
  EXPECT_EQ(cut.value().quality.samples, 23);
}

TEST_F(Evaluate, ComparesPrecisionsOnOnednn) {
  const TargetRegistry targets = Targets();
  if (targets.absent().contains("onednn")) GTEST_SKIP() << targets.absent().at("onednn");
  if (!DetectIsa().vnni) GTEST_SKIP() << "without VNNI, onednn takes no 8-bit layers";
  EvaluationSettings settings = Settings();
  settings.target = "onednn";
  settings.samples = 0;
  Prepare(settings);
  std::map<std::string, Outcome> outcomes;
  for (const std::string& precision :
       {std::string("f32"), std::string("bf16"), std::string("int8")}) {
    Candidate candidate = On("onednn", Measure::kQualityAndLatency);
    candidate.strategy.quantize.layers["hidden"] = ParsePrecision(precision);
    if (precision == "int8") {
      candidate.strategy.quantize.activations["x"] = {"i8", 1.0 / 32, 0};
      candidate.strategy.quantize.activations["r"] = {"u8", 1.0 / 16, 0};
    }
    const auto result = EvaluateOne(candidate);
    ASSERT_TRUE(result.ok()) << precision << ": " << result.failure().detail;
    EXPECT_TRUE(result.value().latency.has_value());
    EXPECT_EQ(result.value().quality.samples, 23);
    outcomes[precision] = result.value();
  }
  // One layer of 192 weights in 4, 2 and 1 byte.
  EXPECT_EQ(outcomes["f32"].weight_bytes - outcomes["bf16"].weight_bytes, 2 * 192);
  EXPECT_LT(outcomes["int8"].weight_bytes, outcomes["bf16"].weight_bytes);
  EXPECT_LT(SquareOf(outcomes["f32"].quality), 1e-9);
  EXPECT_LT(SquareOf(outcomes["f32"].quality), SquareOf(outcomes["bf16"].quality));
  EXPECT_LT(SquareOf(outcomes["bf16"].quality), SquareOf(outcomes["int8"].quality));
  EXPECT_LT(SquareOf(outcomes["int8"].quality), 1e-2);
}

TEST_F(Evaluate, FeedsModelsOfSeveralInputs) {
  Graph graph = ParseGraph(R"(graph two {
  input %ids : i64[n,3]
  input %x : f32[n,4]
  const %table : f32[5,4] = random 1
  const %w : f32[4,4] = random 2
  %e = Gather(%table, %ids) {axis = 0}
  %m = ReduceMean(%e) {axes = [1], keepdims = 0}
  %s = Add(%m, %x)
  %y = MatMul(%s, %w) @layer
  output %y
})");
  InferTypes(graph);
  SampleSet samples = Samples(9);
  Tensor ids(DType::kI64, {9, 3});
  for (std::size_t i = 0; i < 27; ++i) {
    ids.MutableValues<std::int64_t>()[i] = static_cast<std::int64_t>(i * i % 5);
  }
  const Tensor x =
      Tensor::From<float>(DType::kF32, {9, 4},
                          std::vector<float>(samples.inputs[0].Values<float>().begin(),
                                             samples.inputs[0].Values<float>().begin() + 36));
  samples.inputs = {ids, x};
  FitOptions fit;
  fit.target = "reference";
  const TensorSamples calibration(samples.inputs);
  const PreparedFolder folder = PrepareFolder(
      folder_ + "/prepared", {&graph, &samples, Settings(), &calibration, fit}, Targets());
  EXPECT_EQ(folder.inputs, 2);
  EXPECT_EQ(LoadInputs(folder, {}), samples.inputs);
  EXPECT_EQ(OpenCalibration(folder)->Read(2, 3), calibration.Read(2, 3));
  Candidate candidate = On("reference", Measure::kQualityAndLatency);
  candidate.strategy.quantize.layers["layer"] = Precision::kInt8;
  candidate.strategy.quantize.activations["s"] = {"i8", 1.0 / 32, 0};
  const auto result = EvaluateOne(candidate);
  ASSERT_TRUE(result.ok()) << result.failure().detail;
  EXPECT_EQ(result.value().quality.samples, 9);
  EXPECT_GT(SquareOf(result.value().quality), 0);
  EXPECT_LT(SquareOf(result.value().quality), 1e-2);
}

}  // namespace
}  // namespace msc::cost
