#include "cost/track/finite.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/track/stage.h"
#include "tests/support/pipeline.h"

namespace msc::cost {
namespace {

/// The reference kernels, but for one node, whose second result becomes NaN.
class Spoiling final : public Target {
 public:
  Spoiling(std::string victim, const Target& reference)
      : facts_{"spoiling", "cpu", "1"}, victim_(std::move(victim)), reference_(reference) {}

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
      if (auto failure = reference_.GraphToRuntime({region.graph, {id}}, options, builder)) {
        return failure;
      }
      if (node.name != victim_) continue;
      Step step;
      step.name = node.name;
      step.target = "spoiling";
      step.reads = {builder.BufferOf(node.outputs[0])};
      step.writes = step.reads;
      step.run = [buffer = step.writes[0]](const StepContext& context) {
        reinterpret_cast<float*>(context.At(buffer))[1] = std::numeric_limits<float>::quiet_NaN();
      };
      builder.AddStep(std::move(step));
    }
    return std::nullopt;
  }

  TargetFacts facts_;
  std::string victim_;
  const Target& reference_;
};

class FindsNotFinite : public testing::Test {
 protected:
  FindsNotFinite() {
    RegisterAllTargets(targets_);
    targets_.Add({.name = "spoiling", .options = {}, .make = [this](const OptionMap& /*options*/) {
                    return std::make_unique<Spoiling>("below", reference_.Get("reference"));
                  }});
    compile_.bindings = {{"n", 3}};
  }
  /// x / (x * w): what is finite becomes infinite where the divisor is rounded to 0.
  static Graph Ratio() {
    Graph graph = ParseGraph(R"(graph ratio {
  input %x : f32[n,4]
  const %w : f32[4,4] = random 1
  const %v : f32[4,4] = random 2
  %a = MatMul(%x, %v) @above
  %d = MatMul(%x, %w) @below
  %q = Div(%a, %d) @ratio
  %y = Relu(%q) @relu
  output %y
})");
    InferTypes(graph);
    return graph;
  }
  /// Of activations that were far larger where it was calibrated.
  static Strategy Coarse() {
    Strategy strategy;
    strategy.target = "reference";
    strategy.quantize.layers["below"] = Precision::kInt8;
    strategy.quantize.activations["x"] = {"i8", 1000, 0};
    return strategy;
  }
  std::optional<NotFinite> Find(const Graph& graph, const Strategy& strategy,
                                const std::vector<Tensor>& inputs) {
    const auto built = Compile(graph, strategy, targets_, compile_);
    outputs_ = built.value().Run(inputs);
    return FindNotFinite({.canonical = &graph,
                          .strategy = &strategy,
                          .targets = &targets_,
                          .compile = compile_,
                          .inputs = inputs,
                          .outputs = outputs_});
  }

  TargetRegistry reference_ = Targets();
  TargetRegistry targets_;
  CompileOptions compile_;
  std::vector<Tensor> outputs_;
};

TEST_F(FindsNotFinite, NoneWhereAllIsFinite) {
  Strategy strategy;
  strategy.target = "reference";
  EXPECT_EQ(Find(Ratio(), strategy, {RandomTensor({3, 4}, 5)}), std::nullopt);
}

TEST_F(FindsNotFinite, TheOperatorThatCompressionMakesSo) {
  const auto found = Find(Ratio(), Coarse(), {RandomTensor({3, 4}, 5)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->output, "y");
  EXPECT_EQ(found->of, 12);
  EXPECT_GT(found->values, 0);
  EXPECT_EQ(found->maker, Maker::kCompression);
  EXPECT_EQ(found->node, "ratio");
  EXPECT_EQ(found->op, "Div");
  EXPECT_EQ(
      CauseText(*found),
      "output 'y' is not finite (" + std::to_string(found->values) +
          " of 12 values); the first result that is not is that of Div 'ratio', on every target");
}

TEST_F(FindsNotFinite, TheOperatorThatATargetComputesWrongly) {
  Strategy strategy;
  strategy.target = "spoiling";
  const auto found = Find(Ratio(), strategy, {RandomTensor({3, 4}, 5)});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->maker, Maker::kTarget);
  EXPECT_EQ(found->node, "below");
  EXPECT_EQ(
      CauseText(*found),
      "output 'y' is not finite (1 of 12 values); the first result that is not is that of MatMul "
      "'below': spoiling computes this node wrongly, also when it runs the node alone");
}

TEST_F(FindsNotFinite, NoneThatIsTheModelsOwn) {
  Graph graph = ParseGraph(R"(graph own {
  input %x : f32[n,4]
  const %w : f32[4,4] = random 1
  %a = MatMul(%x, %w) @layer
  %y = Log(%a) @log
  output %y
})");
  InferTypes(graph);
  Strategy strategy;
  strategy.target = "reference";
  EXPECT_EQ(Find(graph, strategy, {RandomTensor({3, 4}, 5)}), std::nullopt);
  EXPECT_FALSE(AllFinite(outputs_)) << "the test tells something";
}

TEST_F(FindsNotFinite, TheFirstOfAStageAlone) {
  const std::vector<Tensor> inputs = {RandomTensor({3, 4}, 5)};
  for (const char* target : {"reference", "spoiling"}) {
    Strategy strategy = target == std::string("spoiling") ? Strategy{} : Coarse();
    strategy.target = target;
    const auto any = Find(Ratio(), strategy, inputs);
    ASSERT_TRUE(any.has_value());
    const auto alone = FindNotFinite(CompiledStage(Ratio(), strategy, targets_, compile_), targets_,
                                     inputs, outputs_);
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(alone->node, any->node);
    EXPECT_EQ(alone->maker, any->maker);
    EXPECT_EQ(alone->values, any->values);
  }
}

TEST_F(FindsNotFinite, NothingOfAStageWhoseInputsAreNot) {
  Strategy strategy;
  strategy.target = "reference";
  std::vector<Tensor> inputs = {RandomTensor({3, 4}, 5)};
  inputs[0].MutableValues<float>()[0] = std::numeric_limits<float>::infinity();
  (void)Find(Ratio(), strategy, inputs);
  ASSERT_FALSE(AllFinite(outputs_));
  EXPECT_EQ(FindNotFinite(CompiledStage(Ratio(), strategy, targets_, compile_), targets_, inputs,
                          outputs_),
            std::nullopt);
}

}  // namespace
}  // namespace msc::cost
