#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/base/sanitizer.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/regions.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/pipeline.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// Names of the targets that this machine can run.
std::vector<std::string> Present(const TargetRegistry& registry) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry.kinds()) {
    try {
      (void)registry.Get(name);
      names.push_back(name);
    } catch (const UserError&) {
      continue;  // the contract tests say why
    }
  }
  return names;
}

/// "0: a c | 2: b", by names.
std::string Regions(Graph graph, const std::map<std::string, std::size_t>& named,
                    std::size_t first_single) {
  const RegionIds regions = AssignRegions(named, first_single, graph);
  Verify(graph);
  std::string text;
  for (const OrderedRegion& region : OrderRegions(graph, regions, first_single)) {
    text += (text.empty() ? "" : " | ") +
            (region.id < first_single ? std::to_string(region.id) : "rest") + ":";
    for (const NodeId id : region.nodes) text += " " + graph.node(id).name;
  }
  return text;
}

// Two branches of two nodes that join: x -> a -> c -> e, x -> b -> d -> e.
constexpr const char* kBranches = R"(graph g {
  input %x : f32[4]
  %a = Relu(%x) @a
  %b = Abs(%x) @b
  %c = Neg(%a) @c
  %d = Exp(%b) @d
  %e = Add(%c, %d) @e
  output %e
})";

TEST(Regions, ComeInAnOrderInWhichEachFindsWhatItReads) {
  const Graph graph = Parse(kBranches);
  EXPECT_EQ(Regions(graph, {{"b", 0}, {"d", 0}, {"a", 1}, {"c", 1}, {"e", 1}}, 2),
            "0: b d | 1: a c e");
  EXPECT_EQ(Regions(graph, {{"a", 0}, {"c", 0}, {"b", 1}, {"d", 1}, {"e", 2}}, 3),
            "0: a c | 1: b d | 2: e");
  EXPECT_EQ(Regions(graph, {{"e", 0}}, 1), "rest: a b c d | 0: e") << "what is left is one region";
  EXPECT_EQ(Regions(graph, {{"c", 0}}, 1), "rest: a b d | 0: c | rest: e");
}

TEST(Regions, ThatNeedEachOtherAreNamed) {
  const Graph graph = Parse(kBranches);
  EXPECT_EQ(Refusal([&] {
              Regions(graph, {{"a", 0}, {"d", 0}, {"b", 1}, {"c", 1}}, 2);
            }),
            "regions of the partition need each other's results in a circle: region 0 (from 'a' "
            "on), which needs region 1 (from 'b' on), which needs region 0 (from 'a' on)");
  EXPECT_EQ(Refusal([&] {
              Regions(graph, {{"a", 0}, {"e", 0}}, 1);
            }),
            "regions of the partition need each other's results in a circle: region 0 (from 'a' "
            "on), which needs node 'c', which needs region 0 (from 'a' on)");
}

// %n is stored in 8 bits and read by two layers and the caller; %x is narrowed where it comes in.
constexpr const char* kNarrow = R"(graph g {
  input %x : f32[1,2,4,4]
  const %s : f32[] = [0.5]
  const %z : i8[] = [0]
  %xq = QuantizeLinear(%x, %s, %z) @xq
  %xd = DequantizeLinear(%xq, %s, %z) @xd
  %a = Relu(%xd) @a
  %nq = QuantizeLinear(%a, %s, %z) @nq
  %n = DequantizeLinear(%nq, %s, %z) @n
  %b = Abs(%n) @b
  %c = Neg(%n) @c
  output %b
  output %c
  output %n
})";

TEST(Regions, ReadNarrowValuesAndWidenThemThemselves) {
  EXPECT_EQ(Regions(Parse(kNarrow), {{"a", 0}, {"b", 1}, {"c", 2}}, 3),
            "0: xq xd a nq n | 1: n_1 b | 2: n_2 c");
  EXPECT_EQ(Regions(Parse(kNarrow), {{"a", 0}, {"b", 1}, {"c", 2}, {"n", 1}}, 3),
            "0: xq xd a nq | 1: n b | 2: c")
      << "what is named stays where it is put";
}

/// A random graph of f32 nodes on one shape, some of them layers with weights; nodes "n0", "n1",
/// ...
Graph RandomDag(Rng& rng, int nodes) {
  std::string text = "graph g {\n  input %v0 : f32[1,4,5,5]\n";
  text += "  const %w : f32[4,4,3,3] = random 1\n  const %k : f32[4,1,1] = random 2\n";
  for (int i = 0; i < nodes; ++i) {
    const auto value = [&] {
      return "%v" + std::to_string(rng.Below(static_cast<std::uint64_t>(i) + 1));
    };
    const std::string out = "  %v" + std::to_string(i + 1) + " = ";
    const std::string name = " @n" + std::to_string(i);
    switch (rng.Below(5)) {
      case 0:
        text += out + "Conv(" + value() + ", %w)" + name +
                " {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n";
        break;
      case 1:
        text += out + "Add(" + value() + ", " + value() + ")" + name + "\n";
        break;
      case 2:
        text += out + "Add(" + value() + ", %k)" + name + "\n";
        break;
      case 3:
        text += out + "MaxPool(" + value() + ")" + name +
                " {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n";
        break;
      default:
        text += out + "Sigmoid(" + value() + ")" + name + "\n";
    }
  }
  // Taps and several exits: some values in the middle are outputs too.
  for (int i = 1; i <= nodes; ++i) {
    if (i == nodes || rng.Below(4) == 0) text += "  output %v" + std::to_string(i) + "\n";
  }
  Graph graph = Parse(text + "}");
  Canonicalize(graph);
  return graph;
}

/// Whether contracting the regions leaves no circle, by transitive closure.
bool Acyclic(const Graph& graph, const std::map<std::string, std::size_t>& region_of,
             std::size_t regions) {
  std::vector<std::vector<bool>> reach(regions, std::vector<bool>(regions));
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId from = graph.producer(input);
      if (from == kNoNode) continue;
      const std::size_t a = region_of.at(graph.node(from).name);
      const std::size_t b = region_of.at(graph.node(id).name);
      if (a != b) reach[a][b] = true;
    }
  }
  for (std::size_t k = 0; k < regions; ++k) {
    for (std::size_t i = 0; i < regions; ++i) {
      for (std::size_t j = 0; j < regions; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  for (std::size_t i = 0; i < regions; ++i) {
    if (reach[i][i]) return false;
  }
  return true;
}

// Regions that overlap in time, have several exits and taps, and share weights and inputs.
TEST(Partition, ComputesWhatOneTargetComputesOrIsRefusedForACircle) {  // T-ORDER
  const TargetRegistry targets = Targets();
  const std::vector<std::string> names = Present(targets);
  Rng rng(20);
  const auto kTrials = static_cast<int>(Seeds(60));
  int run = 0;
  int refused = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    const Graph graph = RandomDag(rng, 9);
    const std::size_t regions = 2 + rng.Below(3);
    Strategy strategy;
    strategy.target = names[rng.Below(names.size())];
    std::map<std::string, std::size_t> region_of;
    std::vector<PartitionRegion> all(regions);
    for (PartitionRegion& region : all) {
      region.target = names[rng.Below(names.size())];
      if (rng.Below(2) == 0) region.target += ":images=channels_last";
    }
    std::size_t position = 0;
    for (const NodeId id : graph.order()) {
      // Mostly in order, so that many have no circle.
      const std::size_t in_order = position++ * regions / graph.order().size();
      const std::size_t region = rng.Below(6) == 0 ? rng.Below(regions) : in_order;
      region_of[graph.node(id).name] = region;
      all[region].nodes.push_back(graph.node(id).name);
    }
    for (const PartitionRegion& region : all) {
      if (!region.nodes.empty()) strategy.partition.push_back(region);
    }
    if (!Acyclic(graph, region_of, regions)) {
      ++refused;
      EXPECT_TRUE(Refusal([&] {
                    (void)LowerFor(graph, strategy, targets, {});
                  }).starts_with("regions of the partition need each other's results in a circle"));
      continue;
    }
    ++run;
    const std::vector<Tensor> inputs = {RandomTensor({1, 4, 5, 5}, rng.Below(1U << 30U))};
    const std::vector<Tensor> wanted = Interpret(graph, inputs);
    const Lowered lowered = LowerFor(graph, strategy, targets, {});
    Verify(lowered.graph);
    Result<Executable> built = BuildExecutable(lowered, targets, {});
    ASSERT_TRUE(built.ok()) << built.failure().detail;
    const std::vector<Tensor> got = built.value().Run(inputs);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LT(Error(got[i], wanted[i]), 1e-5);
  }
  EXPECT_GT(run, kTrials / 3);
  EXPECT_GT(refused, kTrials / 12);
}

/// Every chain of `length` nodes in graph order on the next of `names`; the last node in none.
std::vector<PartitionRegion> Slices(const Graph& graph, std::size_t length,
                                    const std::vector<std::string>& names) {
  std::vector<PartitionRegion> partition;
  const std::vector<NodeId>& order = graph.order();
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (i % length == 0) {
      partition.push_back({.nodes = {}, .target = names[(i / length) % names.size()]});
    }
    partition.back().nodes.push_back(graph.node(order[i]).name);
  }
  return partition;
}

struct Case {
  std::string precision;
  double tolerance;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.precision; }
};

constexpr std::int64_t kSamples = kSanitized ? 1 : 4;

class ShippedModel : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    graph_ = ImportOnnx("experiments/models/fashion_resnet.onnx");
    Canonicalize(graph_);
    const Calibrator calibrator =
        ObserveActivations(graph_, TensorSamples({{RandomTensor({kSamples, 1, 28, 28}, 3)}}),
                           {.target = "reference", .batch = kSamples}, targets_);
    strategy_.target = "reference";
    if (GetParam().precision == "f32") return;
    strategy_.quantize.activations = calibrator.Scales({.method = "minmax"});
    for (const QuantizableLayer& layer : FindQuantizableLayers(graph_)) {
      strategy_.quantize.layers[layer.name] = ParsePrecision(GetParam().precision);
    }
  }

  [[nodiscard]] Tensor Run(const Strategy& strategy) const {
    Result<Executable> built = Compile(graph_, strategy, targets_, {});
    EXPECT_TRUE(built.ok()) << built.failure().detail;
    return built.value().Run({{RandomTensor({1, 1, 28, 28}, 9)}}).at(0);
  }

  Graph graph_;
  TargetRegistry targets_ = Targets();
  Strategy strategy_;
};

TEST_P(ShippedModel, GivesTheSameCutUpAndMixed) {
  const Tensor whole = Run(strategy_);
  strategy_.partition = Slices(graph_, 3, {"reference"});
  EXPECT_EQ(Run(strategy_), whole) << "a cut alone changes no bit";
  strategy_.partition = Slices(graph_, 3, {"reference:images=channels_last", "reference"});
  EXPECT_EQ(Run(strategy_), whole) << "nor does how images are exchanged";
  std::vector<std::string> names = Present(targets_);
  strategy_.partition = Slices(graph_, 2, names);
  EXPECT_LT(Error(Run(strategy_), whole), GetParam().tolerance);
  // All pairs of a target that exchanges images dense and its neighbour that does not, or the
  // other way round.
  for (std::size_t i = 0; i < names.size(); i += 2) names[i] += ":images=channels_last";
  strategy_.partition = Slices(graph_, 2, names);
  EXPECT_LT(Error(Run(strategy_), whole), GetParam().tolerance);
}

TEST_P(ShippedModel, KeepsOneCopyOfItsWeights) {
  const Graph applied = ApplyStrategy(graph_, strategy_);
  const Lowered whole = LowerFor(applied, strategy_, targets_, {});
  strategy_.partition = Slices(graph_, 1, {"reference"});
  const Lowered cut = LowerFor(applied, strategy_, targets_, {});
  EXPECT_EQ(CountContents(cut.graph).weight_bytes, CountContents(whole.graph).weight_bytes);
  EXPECT_EQ(RejectedNodes(cut, targets_), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(, ShippedModel,
                         testing::Values(Case{"f32", 1e-4}, Case{"bf16", 0.03}, Case{"int8", 0.08}),
                         [](const auto& param_info) { return param_info.param.precision; });

TEST(Partition, TurnsImagesOnceWhereRegionsExchangeThemOtherwise) {
  const Graph graph = Parse(R"(graph g {
    input %x : f32[1,2,4,4]
    %a = Relu(%x) @a
    %b = Abs(%a) @b
    %c = Neg(%a) @c
    %d = Exp(%a) @d
    %e = Sigmoid(%d) @e
    output %b
    output %c
    output %e
  })");
  const std::string dense = "reference";
  const std::string last = "reference:images=channels_last";
  const auto regions = [&](const std::string& a, const std::string& b, const std::string& c,
                           const std::string& d, const std::string& e) {
    Strategy strategy;
    strategy.target = dense;
    strategy.partition = {{{"a"}, a}, {{"b"}, b}, {{"c"}, c}, {{"d"}, d}, {{"e"}, e}};
    std::string text;
    const TargetRegistry targets = Targets();
    for (const PartitionRegion& region : LowerFor(graph, strategy, targets, {}).regions) {
      text += text.empty() ? "" : " | ";
      for (const std::string& node : region.nodes) text += (text.empty() ? "" : " ") + node;
      if (region.target == last) text += "'";
    }
    return text;
  };
  EXPECT_EQ(regions(dense, dense, dense, dense, dense), "a |  b |  c |  d |  e");
  // Inputs and outputs of the whole are dense, whoever reads and makes them.
  EXPECT_EQ(regions(last, last, last, last, last),
            "a turn a' |  turn a_1 b' |  turn a_2 c' |  turn a_3 d turn d' |  turn d_1 e'");
  // Who has it channels last turns it, once for all readers.
  EXPECT_EQ(regions(last, dense, last, dense, dense),
            "a turn a' |  turn image' |  b |  turn a_1 c' |  d |  e");
  EXPECT_EQ(regions(dense, last, last, dense, dense),
            "a |  turn image' |  turn a b' |  turn a_1 c' |  d |  e");
}

TEST(Partition, LetsNarrowValuesCross) {
  Graph graph = Parse(kNarrow);
  Strategy strategy;
  strategy.target = "reference";
  strategy.partition = {{{"a"}, "reference"}, {{"b"}, "reference"}, {{"c"}, "reference"}};
  const Lowered lowered = LowerFor(graph, strategy, Targets(), {});
  std::map<std::string, std::size_t> region_of;
  for (std::size_t i = 0; i < lowered.regions.size(); ++i) {
    for (const std::string& node : lowered.regions[i].nodes) region_of[node] = i;
  }
  std::set<std::string> crossing;
  for (const NodeId id : lowered.graph.order()) {
    const Node& node = lowered.graph.node(id);
    for (const ValueId input : node.inputs) {
      const NodeId from = lowered.graph.producer(input);
      if (from == kNoNode) continue;
      if (region_of.at(lowered.graph.node(from).name) == region_of.at(node.name)) continue;
      crossing.insert(ToString(lowered.graph.type(input)));
    }
  }
  EXPECT_EQ(crossing, std::set<std::string>{"i8[1,2,4,4]"});
  EXPECT_EQ(lowered.graph.value(lowered.graph.outputs()[2]).name, "n");
}

TEST(Partition, SaysWhatIsWrongWithAPlan) {
  const TargetRegistry targets = Targets();
  const Graph graph = Parse(kBranches);
  const auto refusal = [&](std::vector<PartitionRegion> partition) {
    Strategy strategy;
    strategy.target = "reference";
    strategy.partition = std::move(partition);
    return Refusal([&] { (void)LowerFor(graph, strategy, targets, {}); });
  };
  EXPECT_EQ(refusal({{{"a"}, "reference"}, {{"b", "a"}, "reference"}}),
            "node 'a' is in regions 0 and 1 of the partition");
  EXPECT_EQ(refusal({{{"a"}, "reference"}, {{}, "reference"}}),
            "region 1 of the partition has no nodes");
  EXPECT_EQ(refusal({{{"a", "zz"}, "reference"}}),
            "the partition names a node 'zz', which the graph does not have");
  EXPECT_NE(refusal({{{"a"}, "abacus"}}).find("abacus"), std::string::npos);
  EXPECT_EQ(refusal({{{"a"}, "reference"}}), "accepted") << "the rest is the strategy's target's";
  Strategy other;
  other.model_hash = std::string(64, '0');
  other.partition = {{{"a"}, "reference"}};
  EXPECT_TRUE(Refusal([&] {
                (void)Compile(graph, other, targets, {});
              }).starts_with("the strategy was made for another model"));
}

TEST(Partition, SaysWhichNodesATargetRefuses) {
  const TargetRegistry targets = Targets();
  if (targets.Find("blas") == nullptr) GTEST_SKIP() << "this build has no blas target";
  const Graph graph = Parse(kBranches);
  Strategy strategy;
  strategy.target = "reference";
  strategy.partition = {{{"a", "c"}, "blas"}};
  EXPECT_EQ(RejectedNodes(LowerFor(graph, strategy, targets, {}), targets),
            (std::vector<std::string>{"a", "c"}));
  EXPECT_TRUE(Compile(graph, strategy, targets, {}).ok()) << "reference runs them";
}

TEST(Partition, IsKeptByStrategiesAndArtefacts) {  // T-SAVE
  const TargetRegistry targets = Targets();
  const Graph graph = Parse(kBranches);
  Strategy strategy;
  strategy.target = "reference";
  const std::string without = ToJson(strategy);
  EXPECT_EQ(without.find("partition"), std::string::npos) << "old strategies keep their hash";
  strategy.model_hash = GraphHash(graph);
  strategy.partition = {{{"a", "c"}, Present(targets).front()}, {{"b"}, "reference"}};
  const Strategy read = StrategyFromJson(ToJson(strategy), "strategy");
  EXPECT_EQ(read, strategy);
  const std::string folder = testing::TempDir() + "partition_artefact";
  const ArtefactManifest manifest = WriteArtefact(folder, graph, read, targets, {});
  ASSERT_EQ(manifest.regions.size(), 3U) << "d and e are left";
  EXPECT_EQ(manifest.regions[0].nodes, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(StrategyFromJson(ReadFile(folder + "/strategy.json"), "strategy"), strategy);
  Result<Artefact> artefact = LoadArtefact(folder, targets);
  ASSERT_TRUE(artefact.ok()) << artefact.failure().detail;
  const std::vector<Tensor> inputs = {RandomTensor({4}, 1)};
  EXPECT_LT(Error(artefact.value().executable.Run(inputs)[0], Interpret(graph, inputs)[0]), 1e-5);
}

TEST(Partition, WithRegionsThatAreNotTheGraphsIsNotBuilt) {
  const TargetRegistry targets = Targets();
  Lowered lowered{.graph = Parse(kBranches), .target = "reference", .regions = {}};
  lowered.regions = {{{"a", "b", "c", "d"}, "reference"}};
  EXPECT_EQ(Refusal([&] { (void)BuildExecutable(lowered, targets, {}); }),
            "the regions leave out node 'e'");
  lowered.regions[0].nodes = {"b", "a", "c", "d", "e"};
  EXPECT_EQ(Refusal([&] { (void)BuildExecutable(lowered, targets, {}); }),
            "the regions do not list the nodes of the graph in its order, at 'b'");
}

}  // namespace
}  // namespace msc
