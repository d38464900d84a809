#include "cost/partition/partition_study.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"
#include "cost/learned/region_features.h"
#include "cost/partition/layout_conversion_costs.h"
#include "cost/partition/measure_candidates.h"
#include "cost/partition/propose.h"
#include "cost/partition/roof_bounds.h"

namespace msc::cost {
namespace {

// A stem, a residual block and a head.
constexpr const char* kNet = R"(graph net {
  input %x : f32[1,4,6,6]
  const %w1 : f32[4,4,3,3] = random 1
  const %w2 : f32[4,4,3,3] = random 2
  const %w3 : f32[4,4,3,3] = random 3
  %c1 = Conv(%x, %w1) @stem {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @stem_relu
  %c2 = Conv(%r1, %w2) @one {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r2 = Relu(%c2) @one_relu
  %c3 = Conv(%r2, %w3) @two {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %s = Add(%c3, %r1) @add
  %r3 = Relu(%s) @two_relu
  %p = GlobalAveragePool(%r3) @pool
  output %p
})";

Graph Net() {
  Graph graph = ParseGraph(kNet);
  InferTypes(graph);
  return graph;
}

/// What the measuring child knows as a target that throws.
class Thrower final : public Target {
 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*g*/, NodeId /*n*/) const override { return true; }
  TargetFacts facts_{"throws", "cpu", "1"};
};

class Studies : public testing::Test {
 protected:
  void SetUp() override {
    RegisterAllTargets(targets_);
    folder_ = testing::TempDir() + "study_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] RegionMeterOptions Meter() const {
    RegionMeterOptions options;
    options.child = {MSC_MEASURE_CHILD, "measure-regions"};
    options.lock_folder = testing::TempDir();
    options.scratch = folder_ + "/scratch";
    return options;
  }
  [[nodiscard]] RegionCostContext Context() const {
    RegionCostContext context{
        .cpu = "c", .program = "p", .threads = 1, .timing = QuickTiming(source_.graph())};
    context.timing.latency.max_ms = 5;
    context.timing.latency.max_warmup_ms = 5;
    return context;
  }

  PartitionStudyResult Study(std::vector<std::string> targets, CoverProblem& problem,
                             bool lazy = false, const std::function<bool()>& stop = {}) {
    RegionMeter meter(source_, Meter());
    RegionCostContext context = Context();
    RegionCosts costs(source_, targets_, meter, folder_ + "/costs", context);
    if (learn_) costs.Learn();
    context.timing.cold_bytes = 0;
    PlanTimes times(source_, targets_, meter, folder_ + "/costs", context, false);
    PartitionStudyOptions options;
    options.targets = std::move(targets);
    if (lazy) options.lazy = LazyBounds::kLearned;
    options.learned = learn_;
    options.seconds = seconds_;
    options.search = search_;
    options.rounds = 1;
    if (search_ == "exact") options.compare = compare_;
    return StudyPartitions(problem, costs, times, options, {}, stop);
  }

  [[nodiscard]] OutcomeStore Samples() const { return OutcomeStore(folder_ + "/costs/samples"); }

  /// As if regions of three models had been measured: `factor` times as slow as a rule says.
  void StoreSamples(const std::string& spec, double factor) const {
    const Target& target = targets_.Get(spec);
    const OutcomeStore store = Samples();
    Rng rng(1);
    for (int i = 0; i < 60; ++i) {
      const double size = 10 * rng.Uniform();
      std::string features = std::to_string(size);
      for (std::size_t k = 1; k < RegionFeatureCount(); ++k) features += ",0";
      const std::string text = R"({"format":"msc-region-sample-2","place":")" +
                               KeyFrom({"c", "p", "1"}) + R"(","target":")" + target.spec() + " " +
                               target.facts().version + R"(","model":"m)" + std::to_string(i % 3) +
                               R"(","features":[)" + features + R"(],"micros":)" +
                               std::to_string(factor * std::exp(0.3 * size)) + "}";
      store.Put(KeyFrom({spec, std::to_string(i)}), text);
    }
  }

  [[nodiscard]] CoverProblem Propose(const std::vector<std::string>& targets) const {
    return ProposeRegions(source_.graph(), source_, targets, targets_);
  }

  TargetRegistry targets_;
  RegionSource source_{Net(), {}, {}};
  std::string folder_;
  bool learn_ = false;
  double seconds_ = 0;
  std::string search_ = "exact";
  std::vector<std::string> compare_ = {"collage", "beam"};
};

/// The search for the fastest of each set of nodes, as before a search of partitions.
LearnedUse Fastest(const RegionSource& source, const TargetRegistry& targets,
                   const RegionMeterOptions& meter_options, const std::string& folder,
                   const RegionCostContext& context, CoverProblem& problem) {
  RegionMeter meter(source, meter_options);
  RegionCosts costs(source, targets, meter, folder, context);
  costs.Learn();
  return MeasureLearnedCandidates(problem, costs, {}, {});
}

TEST_F(Studies, MeasureWhatATargetRuledOutThatDoesNotRun) {
  targets_.Add({.name = "throws", .options = {}, .make = [](const OptionMap& /*options*/) {
                  return std::make_unique<Thrower>();
                }});
  learn_ = true;
  StoreSamples("throws", 1);
  StoreSamples("reference", 1000);
  const std::vector<std::string> targets = {"throws", "reference"};
  CoverProblem problem = Propose(targets);
  const LearnedUse use =
      Fastest(source_, targets_, Meter(), folder_ + "/costs", Context(), problem);
  ASSERT_EQ(use.errors.size(), 2U);
  for (const auto& [target, error] : use.errors) {
    EXPECT_TRUE(error.trusted) << target << error.correlation;
  }
  for (const CandidateRegion& candidate : problem.candidates) {
    EXPECT_EQ(candidate.cost.known(), candidate.target == "reference");
  }
  EXPECT_EQ(use.skipped + use.audited, 0U);
  EXPECT_GT(use.here.regions, 1U);
  EXPECT_GT(Samples().Keys().size(), 120U) << "what was measured is learned from";
  // A study has no need of all, but finds a cover of those that run.
  CoverProblem again = Propose(targets);
  const PartitionStudyResult result = Study(targets, again);
  ASSERT_TRUE(result.best.has_value());
}

TEST_F(Studies, LeaveOutWhatIsRuledOutUnlessItProvesToBeWrong) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  StoreSamples(targets[0], 1);
  StoreSamples(targets[1], 1000);
  CoverProblem problem = Propose(targets);
  const LearnedUse use =
      Fastest(source_, targets_, Meter(), folder_ + "/costs", Context(), problem);
  EXPECT_EQ(use.given_up, use.wrong > 1);
  std::set<std::string> whole;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (candidate.nodes.Count() == problem.flow.size()) whole.insert(candidate.target);
    EXPECT_TRUE(candidate.cost.known() || candidate.nodes.Count() < problem.flow.size());
  }
  EXPECT_EQ(whole.size(), 2U) << "plans are compared with the largest regions";
  EXPECT_TRUE(!use.given_up || use.skipped == 0);
}

TEST_F(Studies, AskForWhatIsOnPlansThatAreForecast) {
  learn_ = true;
  compare_ = {};
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  StoreSamples(targets[0], 1);
  StoreSamples(targets[1], 1000);
  CoverProblem problem = Propose(targets);
  const PartitionStudyResult result = Study(targets, problem);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.learned.errors.size(), 2U);
  EXPECT_GT(result.learned.here.regions, 1U);
  EXPECT_GT(result.lazy.asked, 0);
  EXPECT_LE(result.gap, 0.02);
  std::size_t unknown = 0;
  for (const CandidateRegion& candidate : problem.candidates)
    unknown += candidate.cost.unknown() ? 1 : 0;
  EXPECT_EQ(unknown > 0, result.learned.skipped > 0);
  EXPECT_FALSE(result.bound_proven);
  EXPECT_EQ(result.learned.audited, static_cast<std::size_t>(result.lazy.audited));
  EXPECT_LE(result.learned.wrong, result.learned.audited);
  // Other searches choose among all costs.
  CoverProblem compared = Propose(targets);
  compare_ = {"beam"};
  const PartitionStudyResult both = Study(targets, compared);
  EXPECT_TRUE(both.bound_proven);
  for (const CandidateRegion& candidate : compared.candidates)
    EXPECT_FALSE(candidate.cost.unknown());
  // Side conditions may ask for what is slower: everything is measured.
  CoverProblem pinned = Propose(targets);
  pinned.conditions.pins[pinned.flow.Find("pool")] = {targets[1]};
  const PartitionStudyResult all = Study(targets, pinned);
  EXPECT_EQ(all.lazy.asked, 0);
  for (const CandidateRegion& candidate : pinned.candidates) EXPECT_FALSE(candidate.cost.unknown());
}

TEST_F(Studies, DoWithoutSamplesWhereThereIsNoPlaceForThem) {
  learn_ = true;
  compare_ = {};
  std::filesystem::create_directories(folder_ + "/costs");
  WriteFileAtomic(folder_ + "/costs/samples", "no folder");
  const std::vector<std::string> targets = {"reference"};
  CoverProblem problem = Propose(targets);
  EXPECT_TRUE(Study(targets, problem).best.has_value());
}

TEST_F(Studies, AnswerWithTheFastestOfWhatTheyTimed) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  for (const bool lazy : {false, true}) {
    CoverProblem problem = Propose(targets);
    const PartitionStudyResult result = Study(targets, problem, lazy);
    ASSERT_TRUE(result.best.has_value());
    EXPECT_EQ(result.gap, 0);
    ASSERT_GE(result.plans.size(), 3U);
    EXPECT_EQ(result.plans[0].name, "reference");
    EXPECT_EQ(result.plans[1].name, "reference:threads=2");
    const TimedPartition& best = result.plans[*result.best];
    EXPECT_TRUE(best.chosen.empty() || best.ratio_high < 1);
    ASSERT_TRUE(result.single.has_value());
    EXPECT_TRUE(result.plans[*result.single].chosen.empty());
    EXPECT_EQ(result.plans[*result.single].ratio, 1);
    std::set<std::string> found;
    for (const TimedPartition& plan : result.plans) {
      found.insert(plan.name);
      found.insert(plan.also.begin(), plan.also.end());
    }
    for (const char* search : {"greedy", "collage", "beam"}) {
      EXPECT_TRUE(found.contains(search)) << search;
    }
    EXPECT_TRUE(result.without_plan.empty());
    EXPECT_GT(result.seconds.solve, 0);
    EXPECT_GE(result.seconds.all, result.seconds.search + result.seconds.time_plans);
    for (const TimedPartition& plan : result.plans) {
      ASSERT_TRUE(plan.measured_micros.has_value()) << plan.failure;
      EXPECT_GT(*plan.measured_micros, 0);
      EXPECT_LE(plan.ratio_low, plan.ratio);
      EXPECT_LE(plan.ratio, plan.ratio_high);
      if (plan.chosen.empty()) continue;
      const Result<double> sum = CheckCover(problem, plan.chosen);
      ASSERT_TRUE(sum.ok()) << sum.failure().detail;
      EXPECT_NEAR(sum.value(), plan.predicted_micros.value(), 1e-4)
          << "searches add in whole picoseconds";
    }
  }
}

std::size_t RegionsOf(const CoverProblem& problem, const TimedPartition& plan,
                      const std::string& target) {
  if (plan.chosen.empty()) return plan.runner.target == target ? 1 : 0;
  return static_cast<std::size_t>(std::count_if(
      plan.chosen.begin(), plan.chosen.end(),
      [&](std::uint32_t i) { return problem.candidates[i].target.starts_with(target); }));
}

TEST_F(Studies, KeepPinsAndLimits) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  CoverProblem problem = Propose(targets);
  PinNode(problem, "pool", targets[1]);
  LimitRegions(problem, targets[1], 1);
  const PartitionStudyResult result = Study(targets, problem);
  ASSERT_TRUE(result.best.has_value());
  for (const TimedPartition& plan : result.plans) {
    if (plan.chosen.empty()) continue;
    EXPECT_EQ(RegionsOf(problem, plan, targets[1]), 1U) << plan.name;
  }
  CoverProblem without = Propose(targets);
  LimitRegions(without, targets[1], 0);
  for (const TimedPartition& plan : Study(targets, without).plans) {
    EXPECT_EQ(RegionsOf(without, plan, targets[1]), 0U) << plan.name;
  }
  CoverProblem erased = Propose(targets);
  PinNode(erased, "pool", targets[1]);
  KeepPins(erased);
  EXPECT_TRUE(erased.conditions.empty());
  const std::size_t pool = erased.flow.Find("pool");
  for (const CandidateRegion& candidate : erased.candidates) {
    EXPECT_TRUE(!candidate.nodes.Contains(pool) || candidate.target == targets[1]);
  }
}

TEST_F(Studies, NameASearchOnceAndSayWhyOneGaveNoPlan) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  compare_ = {"greedy", "collage", "greedy"};
  CoverProblem problem = Propose(targets);
  const PartitionStudyResult free = Study(targets, problem);
  int greedy = 0;
  int collage = 0;
  for (const TimedPartition& plan : free.plans) {
    std::vector<std::string> names = plan.also;
    names.push_back(plan.name);
    greedy += static_cast<int>(std::count(names.begin(), names.end(), "greedy"));
    collage += static_cast<int>(std::count(names.begin(), names.end(), "collage"));
  }
  EXPECT_EQ(greedy, 1);
  EXPECT_EQ(collage, 1);
  EXPECT_TRUE(free.without_plan.empty());

  CoverProblem limited = Propose(targets);
  LimitRegions(limited, targets[1], 1);
  std::vector<std::string> without;
  for (const NoPlan& none : Study(targets, limited).without_plan) {
    without.push_back(none.search + ": " + none.why);
  }
  EXPECT_EQ(without,
            (std::vector<std::string>{"greedy: it cannot limit how many regions a target has",
                                      "collage: it cannot limit how many regions a target has"}));
}

TEST_F(Studies, ConditionsHoldForATargetInBothFormsOfImages) {
  const std::vector<std::string> both = {"reference", "reference:images=channels_last"};
  CoverProblem problem = Propose(both);
  PinNode(problem, "one", "reference");
  EXPECT_EQ(problem.conditions.pins.at(problem.flow.Find("one")), both);
  LimitRegions(problem, "reference", 2);
  EXPECT_EQ(problem.conditions.max_regions.at(0).targets, both);
}

TEST_F(Studies, TurnImagesAtWhatThatCosts) {
  const std::vector<std::string> targets = {"reference", "reference:images=channels_last"};
  CoverProblem problem = Propose(targets);
  EXPECT_EQ(problem.labels, (std::vector<std::string>{"dense", targets[1]}));
  std::map<std::string, std::size_t> labelled;
  for (const CandidateRegion& candidate : problem.candidates) {
    labelled[candidate.target] += candidate.wants.size() + candidate.makes.size();
  }
  EXPECT_EQ(labelled[targets[0]], 0U);
  EXPECT_GT(labelled[targets[1]], 0U);
  LayoutConversionCosts turns(problem, source_, targets_, Meter(), folder_ + "/costs", Context());
  EXPECT_EQ(turns.CountUnknown(), 2U) << "all images of the net have one size";
  turns.Measure(problem);
  EXPECT_EQ(turns.counts().measured, 2);
  const FlowIndex one = problem.flow.node(problem.flow.Find("one_relu")).outputs.at(0);
  EXPECT_GT(problem.conversions.Micros(0, 1, one, 0).value(), 0);
  EXPECT_GT(problem.conversions.Micros(1, 0, one, 0).value(), 0);
  const FlowIndex input = problem.flow.node(problem.flow.Find("stem")).inputs.at(0);
  EXPECT_FALSE(problem.conversions.Micros(0, 1, input, 0)) << "nobody exchanges it channels last";
  LayoutConversionCosts again(problem, source_, targets_, Meter(), folder_ + "/costs", Context());
  EXPECT_EQ(again.CountUnknown(), 0U);

  for (const char* node : {"one", "one_relu"}) {
    problem.conditions.pins[problem.flow.Find(node)] = {targets[1]};
  }
  for (const char* node : {"stem", "two_relu"}) {
    problem.conditions.pins[problem.flow.Find(node)] = {targets[0]};
  }
  const PartitionStudyResult result = Study(targets, problem);
  ASSERT_TRUE(result.best.has_value());
  for (const TimedPartition& plan : result.plans) {
    ASSERT_TRUE(plan.measured_micros.has_value()) << plan.failure;
    const Result<std::vector<ConversionStep>> steps = ConversionsNeeded(problem, plan.chosen);
    ASSERT_TRUE(steps.ok());
    EXPECT_GE(steps.value().size(), 2U) << "what the stem makes, and what leaves the block";
    EXPECT_NEAR(CheckCover(problem, plan.chosen).value(), plan.predicted_micros.value(), 1e-4);
  }
}

TEST_F(Studies, ProposeToExchangeImagesAsTargetsLayThem) {
  if (!targets_.kinds().contains("native")) GTEST_SKIP() << "this build has no native target";
  const std::vector<std::string> targets = {"reference", "native"};
  const CoverProblem dense = Propose(targets);
  EXPECT_EQ(dense.labels.size(), 1U);
  const CoverProblem both =
      ProposeRegions(source_.graph(), source_, targets, targets_, {.channels_last = true});
  EXPECT_EQ(both.labels, (std::vector<std::string>{"dense", "native:images=channels_last"}));
  std::size_t whole = 0;
  for (const CandidateRegion& candidate : both.candidates) {
    const bool has = !candidate.wants.empty() || !candidate.makes.empty();
    EXPECT_EQ(has, candidate.target == both.labels[1]) << candidate.target;
    whole += candidate.nodes.Count() == both.flow.size() ? 1 : 0;
  }
  EXPECT_EQ(whole, 2U) << "the whole exchanges nothing";
  EXPECT_GT(both.candidates.size(), dense.candidates.size());
}

TEST_F(Studies, BoundRegionsByWhatTheMachineMultiplies) {
  const Roof roof{.f32 = {.per_second = 1e6, .instruction = ""},
                  .bf16 = {.per_second = 2e6, .instruction = ""},
                  .int8 = {.per_second = 4e6, .instruction = ""},
                  .copy_bytes_per_second = 1};
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  CoverProblem problem = Propose(targets);
  BoundByRoof(source_, targets_, roof, 1, problem);
  // 36 places of 4 channels, 4 * 9 multiplications and additions each, less what lies in the
  // padding, (16 / 18)^2 of it left; by Winograd a quarter.
  const double conv = 2 * 36.0 * 4 * 36 * (16.0 / 18) * (16.0 / 18) / 4 / 1.1;
  const std::set<FlowIndex> convs = {problem.flow.Find("stem"), problem.flow.Find("one"),
                                     problem.flow.Find("two")};
  for (const CandidateRegion& candidate : problem.candidates) {
    double wanted = 0;
    candidate.nodes.ForEach([&](std::size_t node) {
      wanted += convs.contains(static_cast<FlowIndex>(node)) ? conv : 0;
    });
    if (candidate.target == targets[1]) wanted /= 2;
    EXPECT_NEAR(candidate.cost.at_least(), wanted, 0.02 * conv) << ToString(candidate.nodes);
  }
}

TEST_F(Studies, AreNotMeasuredAgain) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  CoverProblem problem = Propose(targets);
  const PartitionStudyResult first = Study(targets, problem);
  EXPECT_EQ(first.taken, "");
  EXPECT_GT(first.seconds.time_regions, 0);
  EXPECT_GT(first.seconds.time_plans, 0);
  CoverProblem same = Propose(targets);
  const PartitionStudyResult again = Study(targets, same);
  EXPECT_NE(again.taken, "");
  EXPECT_EQ(again.seconds.time_regions + again.seconds.build_regions, 0);
  EXPECT_EQ(again.seconds.time_plans + again.seconds.build_plans, 0);
  ASSERT_EQ(again.plans.size(), first.plans.size());
  EXPECT_EQ(again.best, first.best);
  for (std::size_t i = 0; i < first.plans.size(); ++i) {
    EXPECT_EQ(again.plans[i].measured_micros, first.plans[i].measured_micros);
    EXPECT_EQ(again.plans[i].ratio_high, first.plans[i].ratio_high);
  }
}

TEST_F(Studies, KeepPins) {
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  CoverProblem problem = Propose(targets);
  problem.conditions.pins[problem.flow.Find("pool")] = {"reference:threads=2"};
  problem.conditions.pins[problem.flow.Find("stem")] = {"reference"};
  const PartitionStudyResult result = Study(targets, problem);
  ASSERT_TRUE(result.best.has_value());
  for (const TimedPartition& plan : result.plans) {
    EXPECT_GE(plan.chosen.size(), 2U) << "no single target keeps both pins";
    for (const PartitionRegion& region : plan.runner.partition) {
      const auto has = [&](const char* node) {
        return std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end();
      };
      EXPECT_TRUE(!has("pool") || region.target == "reference:threads=2");
      EXPECT_TRUE(!has("stem") || region.target == "reference");
    }
  }
}

TEST_F(Studies, GoOnWithoutTargetsThatFail) {
  targets_.Add({.name = "throws", .options = {}, .make = [](const OptionMap& /*options*/) {
                  return std::make_unique<Thrower>();
                }});
  const std::vector<std::string> targets = {"throws", "reference"};
  CoverProblem problem = Propose(targets);
  const PartitionStudyResult result = Study(targets, problem);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_NE(result.plans[0].failure.find("a library lost its temper"), std::string::npos);
  for (const CandidateRegion& candidate : problem.candidates) {
    EXPECT_EQ(candidate.cost.invalid(), candidate.target == "throws");
  }
  CoverProblem hopeless = Propose({"throws"});
  try {
    (void)Study({"throws"}, hopeless);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("stem"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("a library lost its temper"), std::string::npos);
  }
}

TEST_F(Studies, CountEveryCostThatTimeWasTooShortFor) {
  seconds_ = 1e-6;
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  for (const std::string& target : targets) StoreSamples(target, 1);
  for (const char* const how : {"all", "lazy", "learned"}) {
    const bool lazy = how == std::string("lazy");
    learn_ = how == std::string("learned");
    if (learn_) compare_ = {};
    CoverProblem problem = Propose(targets);
    const PartitionStudyResult result = Study(targets, problem, lazy);
    EXPECT_EQ(result.learned.skipped, 0U) << "what is not reached is not spared";
    std::size_t unknown = 0;
    for (const CandidateRegion& candidate : problem.candidates) {
      EXPECT_FALSE(candidate.cost.invalid()) << "each can run: " << candidate.cost.reason();
      unknown += candidate.cost.unknown() ? 1 : 0;
    }
    EXPECT_EQ(result.unmeasured, unknown) << how;
    EXPECT_GT(unknown, result.distinct) << "those that are alike are all unknown";
    EXPECT_TRUE(result.best.has_value()) << "single targets need no costs";
  }
}

TEST_F(Studies, KeepAMemoryLimit) {
  const auto is_ilp = [](const Search& search) { return search.name == "ilp"; };
  if (std::none_of(CoverSearches().begin(), CoverSearches().end(), is_ilp)) {
    GTEST_SKIP() << "this build has no CBC";
  }
  search_ = "ilp";
  const std::vector<std::string> targets = {"reference", "reference:threads=2"};
  // Pins, so that the answer is a mix.
  const auto propose = [&](std::int64_t most) {
    CoverProblem problem = Propose(targets);
    PinNode(problem, "stem", targets[0]);
    PinNode(problem, "pool", targets[1]);
    problem.conditions.max_bytes = most;
    // Beside single nodes, which hold their weights alone, one that holds what is between them.
    CandidateRegion three{.nodes = problem.flow.EmptySet(), .target = targets[0]};
    for (const char* node : {"one", "one_relu", "two"}) {
      three.nodes.Insert(problem.flow.Find(node));
    }
    problem.candidates.push_back(std::move(three));
    return problem;
  };
  CoverProblem problem = propose(std::int64_t{1} << 40);
  ASSERT_TRUE(Study(targets, problem).best.has_value());
  // The least and the most that covers hold: each byte a microsecond.
  const auto holds = [&](double sign) {
    CoverProblem bytes = problem;
    bytes.conditions.max_bytes.reset();
    constexpr double kMore = 1e5;
    for (CandidateRegion& candidate : bytes.candidates) {
      const double nodes = sign < 0 ? static_cast<double>(candidate.nodes.Count()) * kMore : 0;
      candidate.cost = Cost::Micros(nodes + sign * static_cast<double>(candidate.bytes));
    }
    std::int64_t sum = 0;
    const Cover cover = FindCover(bytes, "exact").value();
    for (const std::uint32_t i : cover.chosen) sum += bytes.candidates[i].bytes;
    return sum;
  };
  const std::int64_t least = holds(1);
  ASSERT_LT(least, holds(-1)) << "a limit rules covers out";
  CoverProblem limited = propose(least);
  const PartitionStudyResult result = Study(targets, limited);
  ASSERT_TRUE(result.best.has_value());
  ASSERT_FALSE(result.plans.empty());
  for (const TimedPartition& plan : result.plans) {
    std::int64_t sum = 0;
    for (const std::uint32_t i : plan.chosen) sum += limited.candidates[i].bytes;
    EXPECT_EQ(sum, least) << plan.name;
  }
  CoverProblem hopeless = propose(least - 1);
  EXPECT_THROW((void)Study(targets, hopeless), UserError);
}

TEST_F(Studies, NeedATarget) {
  EXPECT_THROW((void)Propose({}), UserError);
}

TEST_F(Studies, StopWhenTheyAreTold) {
  const std::vector<std::string> targets = {"reference"};
  CoverProblem problem = Propose(targets);
  const PartitionStudyResult result = Study(targets, problem, false, [] { return true; });
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.best.has_value());
}

}  // namespace
}  // namespace msc::cost
