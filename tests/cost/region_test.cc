#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {
namespace {

Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

// Two layers of one structure with other weights and names, and one of another.
constexpr const char* kNet = R"(graph net {
  input %x : f32[batch,4,6,6]
  const %w1 : f32[4,4,3,3] = random 1
  const %w2 : f32[4,4,3,3] = random 2
  const %w3 : f32[2,4,1,1] = random 3
  %c1 = Conv(%x, %w1) @conv1 {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r2 = Relu(%c2) @relu2
  %y = Conv(%r2, %w3) @conv3 {kernel_shape = [1, 1]}
  output %y
})";

/// A target under another name, so that no library has to be there.
class Alias final : public Target {
 public:
  explicit Alias(std::string name) : facts_{std::move(name), "cpu", "1"} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*g*/, NodeId /*n*/) const override { return true; }
  TargetFacts facts_;
};

class Regions : public testing::Test {
 protected:
  void SetUp() override {
    RegisterAllTargets(targets_);
    for (const char* name : {"crashes", "hangs", "throws", "refuses"}) {
      targets_.Add({.name = name, .options = {}, .make = [name](const OptionMap& /*options*/) {
                      return std::make_unique<Alias>(name);
                    }});
    }
    folder_ = testing::TempDir() + "regions_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    options_.child = {MSC_MEASURE_CHILD, "measure-regions"};
    options_.lock_folder = testing::TempDir();
    options_.scratch = folder_ + "/scratch";
    options_.patience_ms = 20'000;
    latency_ = QuickLatency();
    latency_.max_ms = 5;
    latency_.max_warmup_ms = 5;
  }

  /// What came of each runner: "ok" or the kind of failure.
  std::vector<std::string> Outcomes(const std::vector<RegionGroup>& groups, double tolerance = 0) {
    RegionMeter meter(source_, options_);
    std::map<std::pair<std::size_t, std::size_t>, std::string> outcomes;
    meter.Measure(groups, {.latency = latency_, .tolerance = tolerance},
                  [&](std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
                    const bool is_new =
                        outcomes
                            .emplace(
                                std::pair(group, runner),
                                outcome.ok() ? "ok" : std::string(Name(outcome.failure().kind)))
                            .second;
                    EXPECT_TRUE(is_new) << "each is reported once";
                    if (!outcome.ok()) return;
                    EXPECT_GT(outcome.value().latency.value().median_ns, 0);
                  });
    std::vector<std::string> words;
    for (const auto& [at, word] : outcomes) words.push_back(word);
    return words;
  }

  TargetRegistry targets_;
  RegionSource source_{Parse(kNet), {}, {}};
  RegionMeterOptions options_;
  LatencyOptions latency_;
  std::string folder_;
};

TEST_F(Regions, ThatFailCostNoOtherItsMeasurement) {
  EXPECT_EQ(Outcomes({{{"conv1", "relu1"}, {{"reference"}, {"crashes"}, {"reference"}}},
                      {{"conv2"}, {{"throws"}, {"refuses"}, {"abacus"}}},
                      {{"conv3"}, {{"reference"}}}}),
            (std::vector<std::string>{"ok", "crash", "ok", "compile", "compile", "compile", "ok"}));
  options_.patience_ms = 1500;
  EXPECT_EQ(Outcomes({{{"relu1"}, {{"hangs"}, {"reference"}}}}),
            (std::vector<std::string>{"timeout", "ok"}));
}

TEST_F(Regions, AreWholeModelsAndPlansToo) {
  const RegionRunner plan{
      .target = "reference",
      .partition = {{{"conv1", "relu1"}, "reference"}, {{"conv3"}, "reference"}}};
  const RegionRunner circle{.target = "reference",
                            .partition = {{{"conv1", "conv2"}, "reference"}}};
  EXPECT_EQ(Outcomes({{{}, {{"reference"}, plan, circle, {"nan"}, {"off"}}}}, 1e-4),
            (std::vector<std::string>{"ok", "ok", "compile", "wrong_output", "wrong_output"}));
}

TEST_F(Regions, WhoseChildCannotStartAreAllReported) {
  options_.environment = {"NOTHING=1"};
  options_.child = {MSC_MEASURE_CHILD, "no-such-mode"};
  EXPECT_EQ(Outcomes({{{"conv1"}, {{"reference"}, {"reference"}}}}),
            (std::vector<std::string>{"crash", "crash"}));
}

TEST_F(Regions, StopInTimeAndKeepWhatTheyHave) {
  RegionMeter meter(source_, options_);
  RegionCosts costs(source_, targets_, meter, folder_ + "/costs",
                    {.cpu = "c", .program = "p", .threads = 1, .latency = latency_});
  const std::vector<MeasuredRegion> regions = {{{"conv1"}, "reference"}, {{"conv3"}, "hangs"}};
  int told = 0;
  costs.Measure(
      regions, [&](std::size_t /*region*/, const Result<Outcome>& /*outcome*/) { ++told; },
      [&] { return told > 0; });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(costs.CountUnknown(regions), 1U);
}

TEST_F(Regions, OfOneStructureAreMeasuredOnce) {
  const RegionCostContext context{.cpu = "c", .program = "p", .threads = 1, .latency = latency_};
  const std::vector<MeasuredRegion> regions = {{{"conv1", "relu1"}, "reference"},
                                               {{"conv2", "relu2"}, "reference"},
                                               {{"conv2"}, "reference"},
                                               {{"conv3"}, "refuses"}};
  RegionMeter meter(source_, options_);
  {
    RegionCosts costs(source_, targets_, meter, folder_ + "/costs", context);
    EXPECT_EQ(costs.CountUnknown(regions), 3U);
    std::map<std::size_t, double> times;
    costs.Measure(regions, [&](std::size_t region, const Result<Outcome>& outcome) {
      times[region] = outcome.ok() ? outcome.value().latency->median_ns : -1;
    });
    EXPECT_EQ(times.size(), 4U);
    EXPECT_EQ(times[0], times[1]);
    EXPECT_EQ(times[3], -1);
    EXPECT_EQ(costs.counts().measured, 3);
    EXPECT_EQ(costs.counts().found, 1);
    EXPECT_EQ(costs.counts().failed, 1);
  }
  RegionCosts again(source_, targets_, meter, folder_ + "/costs", context);
  EXPECT_EQ(again.CountUnknown(regions), 0U) << "another study finds them";
  for (const auto& change : std::vector<std::function<void(RegionCostContext&)>>{
           [](RegionCostContext& c) { c.cpu = "d"; }, [](RegionCostContext& c) { c.program = "q"; },
           [](RegionCostContext& c) { c.threads = 2; },
           [](RegionCostContext& c) { c.latency.max_rounds = 12; }}) {
    RegionCostContext other = context;
    change(other);
    RegionCosts costs(source_, targets_, meter, folder_ + "/costs", other);
    EXPECT_EQ(costs.CountUnknown(regions), 3U) << "what a cost depends on is in its key";
  }
  // T-KEY: neither another set of options, nor another target, nor another precision is the same.
  const MeasuredRegion other_options{{"conv1", "relu1"}, "reference:threads=2"};
  EXPECT_EQ(again.CountUnknown({&other_options, 1}), 1U);
  const MeasuredRegion other_target{{"conv2", "relu2"}, "throws"};
  EXPECT_EQ(again.CountUnknown({&other_target, 1}), 1U);
  Strategy narrow;
  narrow.quantize.layers["conv1"] = "bf16";
  const RegionSource in_bf16(Parse(kNet), narrow, {});
  RegionCosts narrow_costs(in_bf16, targets_, meter, folder_ + "/costs", context);
  EXPECT_EQ(narrow_costs.CountUnknown({regions.data(), 1}), 1U);
  EXPECT_EQ(narrow_costs.CountUnknown({regions.data() + 1, 1}), 0U)
      << "this layer stayed as it was";
}

TEST(Structure, DoesNotDependOnNamesAndWeights) {
  const RegionSource source(Parse(kNet), {}, {});
  const auto hash = [&](std::vector<std::string> nodes) {
    return StructureHash(source.Cut(nodes));
  };
  EXPECT_EQ(hash({"conv1", "relu1"}), hash({"conv2", "relu2"}));
  EXPECT_NE(hash({"conv1"}), hash({"conv1", "relu1"}));
  EXPECT_NE(hash({"conv2"}), hash({"conv3"}));
  Graph clipped = Parse(R"(graph g {
    input %x : f32[4]
    const %low : f32[] = [0]
    const %high : f32[] = [6]
    %y = Clip(%x, %low, %high) @clip
    output %y
  })");
  const std::string six = StructureHash(clipped);
  clipped.SetConstant(clipped.FindValue("high"),
                      std::make_shared<Tensor>(Tensor::From<float>(DType::kF32, {}, {{7.0F}})));
  EXPECT_NE(StructureHash(clipped), six) << "a bound is not a weight";
}

TEST(Source, CutsRegionsWithWhatTheStrategyAdded) {
  Strategy strategy;
  for (const char* layer : {"conv1", "conv2", "conv3"}) strategy.quantize.layers[layer] = "bf16";
  const RegionSource source(Parse(kNet), strategy, {});
  EXPECT_FALSE(source.added().empty());
  const Graph part = source.Cut(std::vector<std::string>{"conv2", "relu2"});
  ASSERT_EQ(part.inputs().size(), 1U);
  EXPECT_EQ(part.type(part.inputs()[0]).dtype, DType::kBF16) << "what crosses is narrow";
  ASSERT_EQ(part.outputs().size(), 1U);
  EXPECT_EQ(part.type(part.outputs()[0]).dtype, DType::kBF16);
}

}  // namespace
}  // namespace msc::cost
