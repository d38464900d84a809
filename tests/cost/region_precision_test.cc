// Regions of one model in several precisions, as rivals.

#include "compiler/pipeline/region_precision.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/partition/partition_study.h"
#include "cost/partition/propose.h"
#include "cost/partition/roof_bounds.h"
#include "tests/support/pipeline.h"

namespace msc::cost {
namespace {

constexpr const char* kNet = R"(graph net {
  input %x : f32[1,4,6,6]
  const %w1 : f32[4,4,3,3] = random 1
  const %w2 : f32[4,4,3,3] = random 2
  %c1 = Conv(%x, %w1) @one {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @one_relu
  %c2 = Conv(%r1, %w2) @two {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r2 = Relu(%c2) @two_relu
  %p = GlobalAveragePool(%r2) @pool
  output %p
})";
constexpr const char* kOther = "reference:precision=f32";

Graph Net() {
  Graph graph = ParseGraph(kNet);
  InferTypes(graph);
  return graph;
}

/// "one" in int8, "two" in f32.
Strategy OneInInt8() {
  Strategy strategy;
  strategy.quantize.layers["one"] = Precision::kInt8;
  for (const char* tensor : {"x", "r1"}) {
    strategy.quantize.activations[tensor] = {.dtype = "i8", .scale = 0.0625, .zero_point = 0};
  }
  return strategy;
}

class Precisions : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "precisions_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    options_.child = {MSC_MEASURE_CHILD, "measure-regions"};
    options_.lock_folder = testing::TempDir();
    options_.scratch = folder_ + "/scratch";
    context_ = {.cpu = "c", .program = "p", .threads = 1, .timing = QuickTiming(source_.graph())};
    context_.timing.latency.max_ms = 5;
    context_.timing.latency.max_warmup_ms = 5;
  }

  Graph graph_ = Net();
  RegionSource source_{graph_, OneInInt8(), {}};
  TargetRegistry targets_ = Targets();
  RegionMeterOptions options_;
  RegionCostContext context_;
  std::string folder_;
  const std::vector<std::string> both_ = {"reference", kOther};

  [[nodiscard]] Tensor Run(const Strategy& strategy) const {
    Result<Executable> built = Compile(graph_, strategy, targets_, {});
    EXPECT_TRUE(built.ok()) << built.failure().detail;
    return built.value().Run({{RandomTensor({1, 4, 6, 6}, 9)}}).at(0);
  }
};

TEST_F(Precisions, OfATargetAreWhatItsRegionsAreCutOutOf) {
  EXPECT_EQ(&source_.For("reference"), &source_);
  const RegionSource& f32 = source_.For(kOther);
  EXPECT_EQ(&source_.For("native:precision=f32"), &f32) << "made once";
  EXPECT_TRUE(SameGraph(f32.graph(), graph_));
  EXPECT_EQ(source_.PrecisionOf("one"), Precision::kInt8);
  EXPECT_EQ(f32.PrecisionOf("one"), Precision::kF32);
  EXPECT_EQ(f32.PrecisionOf("one_relu"), Precision::kF32);
  // A plan has each layer as its region says.
  const std::vector<PartitionRegion> plan = {{{"one", "one_relu"}, "reference"},
                                             {{"two", "two_relu", "pool"}, kOther}};
  EXPECT_EQ(&source_.ForPlan("reference", plan), &source_) << "'two' is f32 anyway";
  const std::vector<PartitionRegion> both = {{{"one", "one_relu"}, kOther},
                                             {{"two", "two_relu", "pool"}, "reference"}};
  EXPECT_EQ(&source_.ForPlan("reference", both), &f32);
  const std::vector<PartitionRegion> mixed = {{{"one", "one_relu"}, "reference"},
                                              {{"two"}, "reference:precision=bf16"}};
  Strategy strategy = OneInInt8();
  strategy.quantize.layers["two"] = Precision::kBF16;
  EXPECT_TRUE(SameGraph(source_.ForPlan(kOther, mixed).graph(), ApplyStrategy(graph_, strategy)));
}

TEST_F(Precisions, AreOfferedWhereALayerGainsOne) {
  const CoverProblem problem = ProposeRegions(graph_, source_, both_, targets_);
  const auto one = problem.flow.Find("one");
  std::map<std::string, std::set<std::string>> offered;
  for (const CandidateRegion& candidate : problem.candidates) {
    const bool has_layer = candidate.nodes.Contains(one);
    offered[candidate.target].insert(has_layer ? "with the layer" : "without");
  }
  using Offered = std::set<std::string>;
  EXPECT_EQ(offered[kOther], (Offered{"with the layer"}));
  EXPECT_EQ(offered["reference"], (Offered{"with the layer", "without"}));
  // Nothing of an f32 model is in another precision in f32.
  const RegionSource plain(graph_, {}, {});
  const auto candidates = ProposeRegions(graph_, plain, both_, targets_).candidates;
  EXPECT_TRUE(std::all_of(candidates.begin(), candidates.end(),
                          [](const CandidateRegion& c) { return c.target == "reference"; }));
}

TEST_F(Precisions, MayBePinnedTogetherAndApart) {
  CoverProblem problem = ProposeRegions(graph_, source_, both_, targets_);
  PinNode(problem, "one", "reference");
  const auto one = problem.flow.Find("one");
  EXPECT_EQ(problem.conditions.pins.at(one), both_) << "in any precision";
  problem.conditions.pins.clear();
  PinNode(problem, "one", kOther);
  EXPECT_EQ(problem.conditions.pins.at(one), std::vector<std::string>{kOther});
  LimitRegions(problem, "reference", 3);
  EXPECT_EQ(problem.conditions.max_regions.at(0).targets, both_);
}

TEST_F(Precisions, HaveCostsOfTheirOwn) {
  RegionMeter meter(source_, options_);
  RegionCosts costs(source_, targets_, meter, folder_ + "/costs", context_);
  const std::vector<MeasuredRegion> regions = {{{"one"}, "reference"},
                                               {{"one"}, kOther},
                                               {{"two"}, "reference"},
                                               {{"one", "one_relu"}, "reference:precision=bf16"}};
  EXPECT_EQ(costs.CountUnknown(regions), 4U);
  EXPECT_EQ(costs.Alike(regions), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  std::size_t done = 0;
  costs.Measure(regions,
                [&](std::size_t, const Result<Outcome>& outcome) { done += outcome.ok() ? 1 : 0; });
  EXPECT_EQ(done, regions.size());
  // What one costs in f32 is known where the whole model is f32, too.
  const RegionSource plain(graph_, {}, {});
  RegionCosts others(plain, targets_, meter, folder_ + "/costs", context_);
  const MeasuredRegion two{{"two"}, "reference"};
  EXPECT_TRUE(others.Find(two).has_value());
}

TEST_F(Precisions, AreTimedAsWholePlansThatAStrategyRepeats) {
  CoverProblem problem = ProposeRegions(graph_, source_, both_, targets_);
  PinNode(problem, "one", kOther);
  RegionMeter meter(source_, options_);
  RegionCosts costs(source_, targets_, meter, folder_ + "/costs", context_);
  RegionCostContext plans = context_;
  plans.timing.cold_bytes = 0;
  plans.timing.tolerance = 0.5;
  PlanTimes times(source_, targets_, meter, folder_ + "/costs", plans, false);
  PartitionStudyOptions options;
  options.targets = both_;
  options.rounds = 1;
  const PartitionStudyResult result = StudyPartitions(problem, costs, times, options, {}, {});
  ASSERT_TRUE(result.best.has_value());
  const RegionRunner& best = result.plans[*result.best].runner;
  Strategy strategy = OneInInt8();
  strategy.target = best.target;
  strategy.partition = best.partition;
  const Strategy plain = WithPrecisionsOfRegions(graph_, strategy);
  EXPECT_EQ(plain.quantize.layers.at("one"), Precision::kF32);
  EXPECT_EQ(plain.target, "reference");
  EXPECT_EQ(Run(plain), Run(strategy));
}

TEST_F(Precisions, AreComparedWithWhatComputesTheSame) {
  RegionMeter meter(source_, options_);
  RegionTiming timing = context_.timing;
  timing.tolerance = 1e-5;
  const RegionGroup group{
      .nodes = {}, .runners = {{"reference"}, {kOther}, {kOther, {{{"two"}, kOther}}}, {"off"}}};
  std::vector<std::string> outcomes(group.runners.size());
  (void)meter.Measure(
      {&group, 1}, timing, [&](std::size_t, std::size_t runner, const Result<Outcome>& outcome) {
        outcomes[runner] = outcome.ok() ? "ok" : std::string(Name(outcome.failure().kind));
      });
  EXPECT_EQ(outcomes, (std::vector<std::string>{"ok", "ok", "ok", "wrong_output"}));
}

TEST_F(Precisions, AreBoundByThePeakOfEach) {
  CoverProblem problem = ProposeRegions(graph_, source_, both_, targets_);
  Roof roof;
  roof.f32.per_second = 1e9;
  roof.int8.per_second = 4e9;
  BoundByRoof(source_, targets_, roof, 1, problem);
  std::map<std::string, double> least;  // of the node by itself
  const auto one = problem.flow.Find("one");
  for (const CandidateRegion& candidate : problem.candidates) {
    if (candidate.nodes == IndexSet::Range(problem.flow.size(), one, one + 1)) {
      least[candidate.target] = candidate.cost.at_least();
    }
  }
  ASSERT_GT(least["reference"], 0);
  EXPECT_NEAR(least[kOther] / least["reference"], 4, 1e-6);
}

}  // namespace
}  // namespace msc::cost
