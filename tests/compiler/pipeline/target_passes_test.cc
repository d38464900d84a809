// Passes of targets: that they run, and at which phase.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "tests/compiler/targets/example_target.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    ops.push_back(node.domain.empty() ? node.op : node.domain + "." + node.op);
  }
  return ops;
}

TEST(TargetPasses, OfTheExampleMakeItTakeWhatOthersWrite) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[2,17]
    const %zero : f32[] = [0]
    const %one : f32[] = [1]
    %a = Max(%x, %zero) @rectify
    %y = Max(%a, %one) @other
    output %y
  })");
  InferTypes(graph);
  TargetRegistry targets = Targets();
  targets.Add(ExampleKind());
  Strategy strategy;
  strategy.target = "example";
  Result<Executable> built = Compile(graph, strategy, targets, {});
  ASSERT_TRUE(built.ok()) << built.failure().detail;
  ASSERT_EQ(built.value().steps().size(), 2U);
  EXPECT_EQ(built.value().steps()[0].target, "example");
  EXPECT_EQ(built.value().steps()[0].name, "rectify");
  EXPECT_EQ(built.value().steps()[1].target, "native");
  const std::vector<Tensor> inputs = {RandomTensor({2, 17}, 3)};
  EXPECT_EQ(built.value().Run(inputs), Interpret(graph, inputs));
}

/// What passes saw: one list of operators each time that one ran.
using Log = std::vector<std::vector<std::string>>;

/// Takes fused layers, computes nothing, and has a pass at both phases.
class Watcher final : public Target {
 public:
  explicit Watcher(Log& log) : log_(log) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*graph*/, NodeId /*node*/) const override {
    return true;
  }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] std::vector<Pass> DoPasses(PassPhase phase) const override {
    const std::string mark = phase == PassPhase::kBeforeLowering ? "before" : "lowering";
    return {{"watch", [this, mark](Graph& graph) {
               log_.push_back(OpsOf(graph));
               log_.back().insert(log_.back().begin(), mark);
               return false;
             }}};
  }
  Log& log_;
  TargetFacts facts_{.name = "watcher", .device = "cpu", .version = "1"};
};

TEST(TargetPasses, RunBeforeQuantizationIsFoldedAndAfterFusion) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[1,3,6,6]
    const %w : f32[4,3,3,3] = random 1
    %c = Conv(%x, %w) @conv
    %y = Relu(%c)
    output %y
  })");
  InferTypes(graph);
  Strategy strategy;
  strategy.quantize.layers = {{"conv", Precision::kInt8}};
  strategy.quantize.activations = {{"x", {"i8", 0.03125, 3}}, {"y", {"u8", 0.015625, 0}}};
  Log log;
  (void)Lower(ApplyStrategy(graph, strategy), Watcher(log), {});
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].front(), "before");
  EXPECT_EQ(log[1].front(), "lowering");
  const auto has = [](const std::vector<std::string>& ops, const std::string& op) {
    return std::ranges::find(ops, op) != ops.end();
  };
  EXPECT_TRUE(has(log[0], "Conv") && has(log[0], "Relu") && has(log[0], "DequantizeLinear"));
  EXPECT_FALSE(has(log[0], "msc.Conv"));
  EXPECT_TRUE(has(log[1], "msc.Conv"));
  EXPECT_FALSE(has(log[1], "Relu"));
}

}  // namespace
}  // namespace msc
