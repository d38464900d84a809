#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/samples/array_file.h"
#include "cost/track/bisect.h"
#include "cost/track/stage.h"
#include "cost/track/store.h"
#include "tests/support/pipeline.h"

namespace msc::cost {
namespace {

/// The reference kernels, but for one node, whose result it spoils: always, or only where the node
/// is not compiled alone.
class Faulty final : public Target {
 public:
  Faulty(std::string name, std::string victim, bool always, const Target& reference)
      : facts_{std::move(name), "cpu", "1"},
        victim_(std::move(victim)),
        always_(always),
        reference_(reference) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId node) const override {
    return reference_.Supports(graph, node);
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override {
    for (const NodeId id : region.nodes) {
      const Node& node = region.graph->node(id);
      const Region one{region.graph, {id}};
      if (auto failure = reference_.GraphToRuntime(one, options, builder)) return failure;
      if (node.name != victim_ || (!always_ && region.nodes.size() == 1)) continue;
      Step step;
      step.name = node.name;
      step.target = "faulty";
      step.reads = {builder.BufferOf(node.outputs[0])};
      step.writes = step.reads;
      step.run = [buffer = step.writes[0]](const StepContext& context) {
        reinterpret_cast<float*>(context.At(buffer))[1] += 3;
      };
      builder.AddStep(std::move(step));
    }
    return std::nullopt;
  }

  TargetFacts facts_;
  std::string victim_;
  bool always_;
  const Target& reference_;
};

Graph Net() {
  std::string text = "graph net {\n input %x : f32[n,4,6,6]\n";
  for (int i = 0; i < 9; ++i) {
    const std::string w = std::to_string(i);
    text += " const %w" + w + " : f32[4,4,1,1] = random " + w + "\n";
  }
  std::string before = "x";
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    text += " %c" + n + " = Conv(%" + before + ", %w" + n + ") @conv" + n + "\n";
    text += " %t" + n + " = Tanh(%c" + n + ") @tanh" + n + "\n";
    before = "t" + n;
  }
  text += " output %" + before + "\n}";
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

class Track : public testing::Test {
 protected:
  Track() : graph_(Net()), inputs_({RandomTensor({2, 4, 6, 6}, 3)}) {
    const auto add = [&](const char* name, const char* victim, bool always) {
      targets_.Add({.name = name, .options = {}, .make = [=, this](const OptionMap& /*options*/) {
                      return std::make_unique<Faulty>(name, victim, always,
                                                      reference_.Get("reference"));
                    }});
    };
    RegisterAllTargets(targets_);
    add("faulty", "tanh5", true);
    add("spiteful", "tanh2", false);
    options_.bindings = {{"n", 2}};
  }
  TrackStage Compiled(const std::string& target) {
    Strategy strategy;
    strategy.target = target;
    return CompiledStage(graph_, strategy, targets_, options_);
  }
  StageComparison Compare(const TrackStage& stage) {
    return CompareStage(stage, "baseline", {}, inputs_, 1e-3, targets_, store_);
  }
  BisectResult Find(const TrackStage& stage) {
    (void)Compare(BaselineStage(graph_, options_));
    return BisectStage(stage, "baseline", store_, inputs_, 1e-3, targets_);
  }

  Graph graph_;
  std::vector<Tensor> inputs_;
  TargetRegistry reference_ = Targets();
  TargetRegistry targets_;
  CompileOptions options_;
  TrackStore store_{"", 1 << 20};
};

TEST_F(Track, FindsTheOperatorThatATargetComputesWrongly) {
  const BisectResult found = Find(Compiled("faulty"));
  EXPECT_EQ(found.blame, Blame::kTarget);
  EXPECT_EQ(found.node, "tanh5");
  EXPECT_EQ(found.op, "Tanh");
  EXPECT_EQ(found.value, "t5");
  EXPECT_EQ(found.last_good, "c5");
  EXPECT_GT(found.error, 0.5);
  EXPECT_GT(found.alone_error, 0.5);
  EXPECT_EQ(found.lowered_error, 0);
  EXPECT_FALSE(found.vanishes);
  EXPECT_LE(found.runs, 1 + 5 + 1) << "of 18 values";
  EXPECT_EQ(CauseText(found, "faulty"),
            "faulty computes this node wrongly, also when it runs the node alone");

  const StageComparison table = Compare(Compiled("faulty"));
  ASSERT_EQ(table.errors.size(), 18U);
  ASSERT_TRUE(table.first.has_value());
  EXPECT_EQ(table.errors[*table.first].name, "t5");
  EXPECT_EQ(table.errors[*table.first].op, "Tanh");
  EXPECT_NEAR(table.errors[*table.first].largest, 3, 1e-5);
  EXPECT_EQ(table.errors[10].largest, 0);
  EXPECT_EQ(table.errors[10].cosine, 1);
}

TEST_F(Track, TellsWhoseFaultItIs) {
  const BisectResult company = Find(Compiled("spiteful"));
  EXPECT_EQ(company.node, "tanh2");
  EXPECT_EQ(company.blame, Blame::kSurroundings);
  EXPECT_EQ(company.alone_error, 0);

  TrackStage changed = Compiled("reference");
  Graph& graph = changed.model.graph;
  graph.SetConstant(graph.FindValue("w7"),
                    std::make_shared<const Tensor>(RandomTensor({4, 4, 1, 1}, 99)));
  const BisectResult lowered = Find(changed);
  EXPECT_EQ(lowered.node, "conv7");
  EXPECT_EQ(lowered.blame, Blame::kLowering);
  EXPECT_GT(lowered.lowered_error, 1e-2);

  const BisectResult none = Find(Compiled("reference"));
  EXPECT_EQ(none.blame, Blame::kNone);
  EXPECT_EQ(none.runs, 1);
  EXPECT_FALSE(Compare(Compiled("reference")).first.has_value());
}

TEST_F(Track, ComparesWhatAStrategyChanged) {
  (void)Compare(BaselineStage(graph_, options_));
  Strategy strategy;
  strategy.prune.groups["conv3"] = {.units = 4, .keep = {0, 1, 3}};
  strategy.quantize.layers["conv8"] = Precision::kInt8;
  strategy.quantize.activations["t7"] = {.dtype = "i8", .scale = 0.0078125};
  const StageComparison table = Compare(OptimizedStage(graph_, strategy, options_));
  EXPECT_EQ(table.other_shapes, (std::vector<std::string>{"c3", "t3"}));
  for (const TensorError& error : table.errors) {
    const bool before =
        error.name <= "c2" || error.name == "t0" || error.name == "t1" || error.name == "t2";
    EXPECT_EQ(error.largest == 0, before) << error.name;
  }
  EXPECT_EQ(table.errors.back().name, "t8");
  // Only what is asked for, and nothing that is not there.
  const std::vector<std::string> names = {"t2", "nothing"};
  const StageComparison few =
      CompareStage(Compiled("reference"), "baseline", names, inputs_, 1e-3, targets_, store_);
  ASSERT_EQ(few.errors.size(), 1U);
  EXPECT_EQ(Refusal([&] {
              CollectValues(Compiled("reference"), names, inputs_, targets_,
                            [](const std::string& /*name*/, const Tensor& /*value*/) {});
            }),
            "stage reference has no value 'nothing'");
}

TEST(CompareNumbers, MeasuresInSeveralWays) {
  const auto tensor = [](const std::vector<float>& values) {
    return Tensor::From<float>(DType::kF32, {static_cast<std::int64_t>(values.size())}, values);
  };
  const TensorError error = CompareNumbers(tensor({0, 3, 4}), tensor({0, 3, 2}));
  EXPECT_DOUBLE_EQ(error.largest, 2);
  EXPECT_DOUBLE_EQ(error.relative, 0.5);
  EXPECT_DOUBLE_EQ(error.noise, 2.0 / 5);
  EXPECT_DOUBLE_EQ(error.cosine, 17 / (5 * std::sqrt(13.0)));
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(CompareNumbers(tensor({1, kNan, kInfinite}), tensor({1, kNan, kInfinite})).largest, 0);
  const TensorError broken = CompareNumbers(tensor({1, 2, kInfinite}), tensor({1, kNan, 5}));
  EXPECT_EQ(broken.not_finite, 2);
  EXPECT_TRUE(std::isinf(broken.relative));
  EXPECT_DOUBLE_EQ(CompareNumbers(tensor({2, 2}), tensor({2, 3})).relative, 0.5);
  EXPECT_TRUE(std::isinf(CompareNumbers(tensor({0, 0}), tensor({0, 1})).relative));
  EXPECT_EQ(CompareNumbers(tensor({}), tensor({})).largest, 0);
}

TEST(TrackStore, KeepsToItsBytes) {
  const std::string folder = testing::TempDir() + "track_store";
  std::filesystem::remove_all(folder);
  for (const std::string& where : {std::string(), folder}) {
    TrackStore store(where, 100);
    const Tensor wide = RandomTensor({4, 4}, 1);
    Tensor narrow(DType::kI8, {2, 3});
    narrow.MutableValues<std::int8_t>()[5] = -128;
    EXPECT_TRUE(store.Put("a", "/x:0 \"y\"", wide));
    EXPECT_TRUE(store.Put("a", "q", narrow));
    EXPECT_FALSE(store.Put("b", "z", wide));
    EXPECT_EQ(store.left_out(), 1);
    EXPECT_EQ(store.bytes(), 64U + 24U);
    EXPECT_EQ(store.Get("a", "/x:0 \"y\""), wide);
    EXPECT_EQ(store.Get("a", "q").value().Values<float>()[5], -128);
    EXPECT_EQ(store.TypeOf("a", "q"), DType::kI8);
    EXPECT_EQ(store.TypeOf("b", "z"), DType::kUndefined);
    EXPECT_FALSE(store.Get("b", "z").has_value());
    EXPECT_EQ(store.Names("a"), (std::vector<std::string>{"/x:0 \"y\"", "q"}));
  }
  EXPECT_EQ(ReadNpy(folder + "/0000_a__x_0__y_.npy").size(), 16);
  EXPECT_EQ(Refusal([&] { (void)TrackStore(folder, 100); }),
            "'" + folder + "' is not empty; name a new folder");
}

TEST(TrackStore, CountsAValueThatReplacesAnotherOnce) {
  const std::string folder = testing::TempDir() + "track_store_replaced";
  std::filesystem::remove_all(folder);
  for (const std::string& where : {std::string(), folder}) {
    TrackStore store(where, 100);
    EXPECT_TRUE(store.Put("a", "x", RandomTensor({16}, 1)));
    const Tensor second = RandomTensor({20}, 2);
    EXPECT_TRUE(store.Put("a", "x", second)) << "80 bytes fit where the first 64 were";
    EXPECT_EQ(store.bytes(), 80U);
    EXPECT_EQ(store.Get("a", "x"), second);
    EXPECT_EQ(store.Names("a"), std::vector<std::string>{"x"});
    EXPECT_FALSE(store.Put("a", "x", RandomTensor({26}, 3)));
    EXPECT_EQ(store.left_out(), 1);
    EXPECT_EQ(store.Get("a", "x"), second);
    EXPECT_TRUE(store.Put("a", "y", RandomTensor({5}, 4)));
    EXPECT_EQ(store.bytes(), 100U);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

}  // namespace
}  // namespace msc::cost
