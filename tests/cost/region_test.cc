#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/extract.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/images.h"
#include "compiler/pipeline/regions.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/register.h"
#include "cost/partition/plan_times.h"
#include "cost/partition/region_costs.h"
#include "cost/partition/region_kernels.h"
#include "tests/support/pipeline.h"
#include "tests/support/random_model.h"

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
    timing_ = QuickTiming(source_.graph());
    timing_.latency.max_ms = 5;
    timing_.latency.max_warmup_ms = 5;
    timing_.cold_bytes = 1 << 16;
  }

  /// What came of each runner: "ok" or the kind of failure.
  std::vector<std::string> Outcomes(const std::vector<RegionGroup>& groups, double tolerance = 0) {
    RegionMeter meter(source_, options_);
    std::map<std::pair<std::size_t, std::size_t>, std::string> outcomes;
    timing_.tolerance = tolerance;
    spent_ = meter.Measure(
        groups, timing_,
        [&](std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
          const bool is_new =
              outcomes
                  .emplace(std::pair(group, runner),
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
  RegionTiming timing_;
  RegionMeter::Spent spent_;
  std::string folder_;
};

TEST_F(Regions, ThatFailCostNoOtherItsMeasurement) {  // T-CRASH
  EXPECT_EQ(Outcomes({{{"conv1", "relu1"}, {{"reference"}, {"crashes"}, {"reference"}}},
                      {{"conv2"}, {{"throws"}, {"refuses"}, {"abacus"}}},
                      {{"conv3"}, {{"reference"}}}}),
            (std::vector<std::string>{"ok", "crash", "ok", "compile", "compile", "compile", "ok"}));
  options_.patience_ms = 1500;
  EXPECT_EQ(Outcomes({{{"relu1"}, {{"hangs"}, {"reference"}}}}),
            (std::vector<std::string>{"timeout", "ok"}));
}

TEST_F(Regions, AreMeasuredWhenOthersKillOrStopTheirChildren) {
  MakeFolders(folder_);
  const std::vector<std::string> real = options_.child;
  const std::string count = folder_ + "/starts";
  const auto harm = [&](const std::string& signal, int times) {
    WriteFileAtomic(count, "0\n");
    WriteFileAtomic(folder_ + "/harmed.sh", "read n < " + count + "\necho $((n + 1)) > " + count +
                                                "\n[ $n -ge " + std::to_string(times) +
                                                " ] || kill -" + signal + " $$\nexec \"$@\"\n");
    options_.child = {"/bin/sh", folder_ + "/harmed.sh"};
    options_.child.insert(options_.child.end(), real.begin(), real.end());
  };
  const std::vector<RegionGroup> groups = {{{"conv1"}, {{"reference"}, {"reference"}}},
                                           {{"conv3"}, {{"reference"}}}};
  harm("KILL", 2);
  EXPECT_EQ(Outcomes(groups), (std::vector<std::string>{"ok", "ok", "ok"}));
  harm("STOP", 1);
  EXPECT_EQ(Outcomes(groups), (std::vector<std::string>{"ok", "ok", "ok"}));
  harm("KILL", 1000);
  EXPECT_EQ(Outcomes({groups[1]}), (std::vector<std::string>{"lost"}));
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

TEST_F(Regions, ThatAreManyGetTheirKernelsFirst) {
  options_.build_cores = AllowedCores();
  const std::string cache = folder_ + "/kernels";
  options_.environment = {"MSCGYM_CACHE=" + cache};
  std::vector<RegionGroup> groups;
  for (const char* node : {"conv1", "relu1", "conv2", "relu2", "conv3"}) {
    groups.push_back(
        {.nodes = {node}, .runners = {{"native"}, {"reference"}, {"throws"}, {"crashes"}}});
  }
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    wanted.insert(wanted.end(), {"ok", "ok", "compile", "crash"});
  }
  EXPECT_EQ(Outcomes(groups), wanted);
  EXPECT_GT(spent_.kernels, 0);
  EXPECT_GT(spent_.build, 0);
  EXPECT_GT(spent_.timing, 0);
  groups = {{.nodes = {"conv1"}, .runners = {{"native"}}}};
  EXPECT_EQ(Outcomes(groups), std::vector<std::string>{"ok"});
  EXPECT_EQ(spent_.kernels, 0) << "one region alone does not wait for another child";
}

TEST_F(Regions, HaveTheirKernelsInTheCacheBeforeTheyAreMeasured) {
  const std::string cache = folder_ + "/kernels";
  ASSERT_EQ(::setenv("MSCGYM_CACHE", cache.c_str(), 1), 0);
  const std::vector<RegionGroup> groups = {
      {.nodes = {"conv1", "relu1"}, .runners = {{"native"}}, .sources = {0}},
      {.nodes = {"conv3"}, .runners = {{"throws"}, {"native"}}, .sources = {0, 0}}};
  std::vector<double> parts;
  CompileKernels({&source_, 1}, groups, 1, targets_, [&](double part) { parts.push_back(part); });
  const auto entries = [&] {
    return std::distance(std::filesystem::directory_iterator(cache),
                         std::filesystem::directory_iterator());
  };
  EXPECT_EQ(parts, (std::vector<double>{0, 0, 0, 1})) << "a runner each, and all at once";
  const auto made = entries();
  EXPECT_GE(made, 2);
  for (const RegionGroup& group : groups) {
    Strategy strategy;
    strategy.target = "native";
    EXPECT_TRUE(Compile(source_.Cut(group.nodes), strategy, targets_, {}).ok());
  }
  EXPECT_EQ(entries(), made);
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
                    {.cpu = "c", .program = "p", .threads = 1, .timing = timing_});
  const std::vector<MeasuredRegion> regions = {{{"conv1"}, "reference"}, {{"conv3"}, "hangs"}};
  int told = 0;
  costs.Measure(
      regions, [&](std::size_t /*region*/, const Result<Outcome>& /*outcome*/) { ++told; },
      [&] { return told > 0; });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(costs.CountUnknown(regions), 1U);
}

TEST_F(Regions, PlansAreTimedOnce) {
  const RegionCostContext context{.cpu = "c", .program = "p", .threads = 1, .timing = timing_};
  const std::vector<RegionRunner> runners = {
      {"reference"},
      {"throws"},
      {.target = "reference", .partition = {{{"conv1", "relu1"}, "reference"}}}};
  RegionMeter meter(source_, options_);
  const auto time = [&](std::span<const RegionRunner> who, bool fresh = false,
                        const std::function<bool()>& stop = {}) {
    return PlanTimes(source_, targets_, meter, folder_ + "/costs", context, fresh).Time(who, stop);
  };
  PlanTimes::Timed stopped = time(runners, false, [] { return true; });
  EXPECT_EQ(stopped.outcomes[0].failure().kind, FailureKind::kLost);
  const PlanTimes::Timed first = time(runners);
  EXPECT_EQ(first.taken, "") << "what was stopped is not kept";
  ASSERT_EQ(first.outcomes.size(), 3U);
  EXPECT_TRUE(first.outcomes[0].ok());
  EXPECT_EQ(first.outcomes[1].failure().kind, FailureKind::kCompile);
  EXPECT_EQ(first.outcomes[0].value().latency->ratio, 1);
  const PlanTimes::Timed again = time(runners);
  EXPECT_TRUE(again.taken.ends_with(" UTC")) << again.taken;
  ASSERT_EQ(again.outcomes.size(), 3U);
  EXPECT_EQ(again.outcomes[0].value(), first.outcomes[0].value());
  EXPECT_EQ(again.outcomes[1].failure(), first.outcomes[1].failure());
  EXPECT_EQ(time(runners, true).taken, "") << "asked to measure anew";
  PlanTimes twice(source_, targets_, meter, folder_ + "/costs", context, false);
  EXPECT_NE(twice.Time(runners).taken, "");
  EXPECT_EQ(twice.Time(runners).taken, "") << "the second time is another measurement";
  EXPECT_EQ(time({runners.data(), 1}).taken, "") << "other rivals";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/costs")) {
    if (entry.is_regular_file()) WriteFileAtomic(entry.path(), "{}");
  }
  EXPECT_EQ(time(runners).taken, "") << "damaged";
}

TEST_F(Regions, OfOneStructureAreMeasuredOnce) {
  const RegionCostContext context{.cpu = "c", .program = "p", .threads = 1, .timing = timing_};
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
           [](RegionCostContext& c) { c.timing.latency.max_rounds = 12; },
           [](RegionCostContext& c) { c.timing.cold_bytes = 0; }}) {
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
  narrow.quantize.layers["conv1"] = Precision::kBF16;
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

TEST(Structure, KnowsWhetherWeightsAreNarrow) {
  const auto hash = [](int weight) {
    return StructureHash(
        Parse("graph g {\n  input %x : f32[2,20]\n  const %s : f32[] = [0.5]\n"
              "  const %w : i8[20,3] = splat " +
              std::to_string(weight) +
              "\n  %d = DequantizeLinear(%w, %s) @d\n"
              "  %y = MatMul(%x, %d) @m\n  output %y\n}"));
  };
  EXPECT_EQ(hash(100), hash(-65));
  EXPECT_EQ(hash(64), hash(-3));
  EXPECT_NE(hash(64), hash(65)) << "native has other kernels";
}

TEST(Structure, TakesNestedGraphsThatKnowValuesByTheirNames) {
  // "v1" is also what another value would be called.
  const auto hash = [](const std::string& around, const std::string& inside) {
    Graph graph = ParseGraph("graph g { input %c : bool[] input %x : f32[2] %" + around +
                             " = Neg(%x) %y = If(%c) { then_branch = graph t { captured %" +
                             around + " : f32[2] %n = " + inside + "(%" + around +
                             ") output %n }, else_branch = graph e { captured %" + around +
                             " : f32[2] output %" + around + " } } output %y }");
    InferTypes(graph);
    return StructureHash(graph);
  };
  EXPECT_EQ(hash("v1", "Abs"), hash("v1", "Abs"));
  EXPECT_NE(hash("v1", "Abs"), hash("v1", "Exp"));
  EXPECT_NE(hash("v1", "Abs"), hash("value", "Abs"));
}

TEST(Structure, KnowsScalesByWhichAreEqual) {
  const auto hash = [](float first, float second, const std::string& extra = "") {
    Graph graph = Parse(R"(graph g {
      input %x : f32[4]
      const %a : f32[] = [0.5]
      const %b : f32[] = [0.5]
      const %zero : i8[] = [0]
      %q = QuantizeLinear(%x, %a, %zero) @q
      %y = DequantizeLinear(%q, %b, %zero) @d
      )" + extra + R"(
      output %y
    })");
    for (const auto& [name, value] : {std::pair{"a", first}, std::pair{"b", second}}) {
      graph.SetConstant(graph.FindValue(name),
                        std::make_shared<Tensor>(Tensor::From<float>(DType::kF32, {}, {{value}})));
    }
    return StructureHash(graph);
  };
  EXPECT_EQ(hash(0.25F, 0.5F), hash(0.125F, 0.75F));
  EXPECT_EQ(hash(0.25F, 0.25F), hash(0.75F, 0.75F));
  EXPECT_NE(hash(0.25F, 0.5F), hash(0.25F, 0.25F)) << "those are cancelled";
  EXPECT_NE(hash(1, 0.5F), hash(0.25F, 0.5F)) << "nothing is multiplied by one";
  EXPECT_NE(hash(1e-40F, 0.5F), hash(0.25F, 0.5F)) << "refused by some";
  const std::string also_added = "%z = Add(%x, %a) @add\noutput %z";
  EXPECT_NE(hash(0.25F, 0.5F, also_added), hash(0.125F, 0.5F, also_added)) << "not only a scale";
}

/// Layers in precisions drawn by lot.
Strategy Narrowed(const Graph& canonical, std::uint64_t seed) {
  Rng rng(seed);
  Strategy strategy;
  std::vector<Tensor> inputs;
  for (const ValueId input : canonical.inputs()) {
    inputs.push_back(RandomTensor(*StaticDims(*canonical.type(input).shape), seed));
  }
  Calibrator calibrator(canonical);
  const std::set<std::string> wanted(calibrator.tensors().begin(), calibrator.tensors().end());
  (void)Interpret(canonical, inputs, [&](ValueId value, const Tensor& tensor) {
    const std::string& name = canonical.value(value).name;
    if (wanted.contains(name)) calibrator.Observe(name, tensor.Values<float>());
  });
  strategy.quantize.activations = calibrator.Scales({.method = "minmax"});
  for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
    strategy.quantize.layers[layer.name] = layer.allowed[rng.Below(layer.allowed.size())];
  }
  return strategy;
}

/// What Cut gives, by the definition of regions: all other nodes are in others.
Graph CutOfTheWhole(const RegionSource& source, const std::vector<std::string>& nodes,
                    bool channels_last) {
  Graph graph = source.graph();
  std::map<std::string, std::size_t> named;
  for (const NodeId id : graph.order()) {
    const std::string& name = graph.node(id).name;
    if (!source.added().contains(name)) named[name] = 1;
  }
  for (const std::string& name : nodes) named[name] = 0;
  const RegionIds regions = AssignRegions(named, 2, graph);
  std::vector<NodeId> inside;
  for (const NodeId id : graph.order()) {
    if (regions.at(id) == 0) inside.push_back(id);
  }
  const Extracted part = Extract(graph, inside);
  return channels_last ? WithImagesChannelsLast(part, graph) : part.graph;
}

TEST(Source, CutsAsTheWholeGraphIsCut) {
  int narrow = 0;  // cuts with nodes that the strategy added
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Graph canonical = RandomModel(seed);
    Canonicalize(canonical);
    const RegionSource source(canonical, Narrowed(canonical, seed), {});
    std::vector<std::string> order;
    for (const NodeId id : canonical.order()) order.push_back(canonical.node(id).name);
    Rng rng(seed);
    for (int i = 0; i < 10; ++i) {
      const std::size_t first = rng.Below(order.size());
      const std::size_t count = 1 + rng.Below(std::min<std::size_t>(4, order.size() - first));
      const std::vector<std::string> nodes(
          order.begin() + static_cast<std::ptrdiff_t>(first),
          order.begin() + static_cast<std::ptrdiff_t>(first + count));
      for (const bool channels_last : {false, true}) {
        const Graph part = source.Cut(nodes, channels_last);
        const Graph wanted = CutOfTheWhole(source, nodes, channels_last);
        ASSERT_EQ(StructureHash(part), StructureHash(wanted))
            << "seed " << seed << " from " << nodes.front() << "\n"
            << Print(part) << Print(wanted);
        narrow += part.order().size() > nodes.size() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(narrow, 100);
}

TEST(Source, CutsRegionsWithWhatTheStrategyAdded) {
  Strategy strategy;
  for (const char* layer : {"conv1", "conv2", "conv3"})
    strategy.quantize.layers[layer] = Precision::kBF16;
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
