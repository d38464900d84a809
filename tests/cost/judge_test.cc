// What the measuring child makes of candidates whose graphs end in decisions, without the child.

#include "cost/measure/judge.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/measure/ending.h"
#include "cost/measure/evaluate_child.h"
#include "cost/model/outcome.h"
#include "cost/quality/choose_form.h"
#include "tests/support/pipeline.h"

namespace msc::cost {
namespace {

/// The reference kernels, but for one node, whose first two results it exchanges.
class Exchanging final : public Target {
 public:
  Exchanging(std::string victim, const Target& reference)
      : facts_{"spoils_" + victim, "cpu", "1"}, victim_(std::move(victim)), reference_(reference) {}

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
      step.target = facts_.name;
      step.reads = {builder.BufferOf(node.outputs[0])};
      step.writes = step.reads;
      step.run = [buffer = step.writes[0]](const StepContext& context) {
        auto* values = reinterpret_cast<float*>(context.At(buffer));
        std::swap(values[0], values[1]);
        values[2] += 20000;
      };
      builder.AddStep(std::move(step));
    }
    return std::nullopt;
  }

  TargetFacts facts_;
  std::string victim_;
  const Target& reference_;
};

/// Inputs for which logits are so far apart that what bf16 does to them decides otherwise on some.
std::vector<Tensor> Inputs() {
  std::vector<Tensor> inputs = {RandomTensor({1500, 12}, 7)};
  for (float& x : inputs[0].MutableValues<float>()) x *= 2000;
  return inputs;
}

Graph Model(const std::string& end) {
  Graph graph = ParseGraph(R"(graph decides {
  input %x : f32[batch,12]
  const %w : f32[12,4] = random 1
  const %b : f32[4] = random 2
  const %w2 : f32[12,4] = random 3
  const %pairs : i64[3] = [-1, 2, 2]
  const %one : i64[1] = [1]
  const %low : f32[] = [-1]
  const %high : f32[] = [1]
  %logits = Gemm(%x, %w, %b) @layer
  %corners = MatMul(%x, %w2) @corners
  %boxes = Clip(%corners, %low, %high) @boxes
)" + end + "}");
  InferTypes(graph);
  return graph;
}

Strategy InBf16() {
  Strategy strategy;
  strategy.target = "reference";
  strategy.quantize.layers["layer"] = Precision::kBF16;
  return strategy;
}

class Judged : public testing::Test {
 protected:
  Judged() {
    RegisterAllTargets(targets_);
    for (const char* victim : {"layer", "decision"}) {
      targets_.Add({.name = std::string("spoils_") + victim,
                    .options = {},
                    .make = [=, this](const OptionMap& /*options*/) {
                      return std::make_unique<Exchanging>(victim, reference_.Get("reference"));
                    }});
    }
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = testing::TempDir() + "cost_judge/" + std::to_string(std::hash<std::string>{}(name));
    std::filesystem::remove_all(folder_);
  }
  ~Judged() override { std::filesystem::remove_all(folder_); }

  /// "ok", or the kind and detail of the failure.
  std::string Verdict(const Graph& graph, const Strategy& strategy) {
    const SampleSet samples{Inputs(), {}};
    EvaluationSettings settings;
    settings.target = "reference";
    settings.batch = 64;
    if (!std::filesystem::exists(folder_)) {
      (void)PrepareFolder(folder_, {&graph, &samples, settings}, targets_);
    }
    ChildRequest request;
    request.folder = folder_;
    request.strategies = {strategy};
    const ChildAnswer answer = AnswerRequest(request, targets_);
    const Result<Outcome>& outcome = answer.outcomes.at(0);
    if (outcome.ok()) return "ok";
    return std::string(Name(outcome.failure().kind)) + ": " + outcome.failure().detail;
  }

  TargetRegistry reference_ = Targets();
  TargetRegistry targets_;
  std::string folder_;
};

struct Case {
  std::string label;
  std::string end;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}
class JudgedEnding : public Judged, public testing::WithParamInterface<Case> {};

TEST_P(JudgedEnding, MayDecideOtherwiseByWhatItsPrecisionExcuses) {
  const Graph graph = Model(GetParam().end);
  EXPECT_EQ(Verdict(graph, InBf16()), "ok");
  // The test tells something: outputs alone are off by more than bf16 excuses.
  EvaluationSettings settings;
  const std::vector<Tensor> inputs = Inputs();
  const std::vector<Tensor> reference = Interpret(graph, inputs);
  QualityMeter meter(ChooseForms(graph, reference, {}));
  const std::vector<Tensor> candidate = Interpret(ApplyStrategy(graph, InBf16()), inputs);
  ASSERT_EQ(meter.Add(reference, candidate, {}), std::nullopt);
  EXPECT_NE(JudgeOutputs(meter, InBf16(), settings), std::nullopt);
}

TEST_P(JudgedEnding, IsWrongWhereAnotherComputationIsBeforeIt) {
  Strategy strategy = InBf16();
  strategy.target = "spoils_layer";
  const std::string verdict = Verdict(Model(GetParam().end), strategy);
  EXPECT_TRUE(verdict.starts_with("wrong_output: an output is off by ")) << verdict;
}

INSTANTIATE_TEST_SUITE_P(
    Ends, JudgedEnding,
    testing::Values(
        Case{"Softmax", " %y = Softmax(%logits) @decision {axis = 1}\n output %y\n"},
        Case{
            "SoftmaxBehindReshape",
            " %p = Softmax(%logits) @decision {axis = 1}\n %y = Reshape(%p, %pairs)\n output %y\n"},
        Case{"SoftmaxBehindTranspose",
             " %l = Unsqueeze(%logits, %one)\n %p = Softmax(%l) @decision {axis = 2}\n"
             " %y = Transpose(%p) {perm = [0, 2, 1]}\n output %y\n"},
        Case{"SigmoidBesideBoxes",
             " %p = Sigmoid(%logits) @decision\n %y = Concat(%boxes, %p) {axis = 1}\n output %y\n"},
        Case{"TwoOutputs",
             " %y = Softmax(%logits) @decision {axis = 1}\n output %y\n output %boxes\n"},
        Case{"ArgMax", " %y = ArgMax(%logits) @decision {axis = 1, keepdims = 1}\n output %y\n"}),
    [](const auto& test) { return test.param.label; });

TEST_F(Judged, IsWrongWhereTheDecisionItselfIs) {
  Strategy strategy = InBf16();
  strategy.target = "spoils_decision";
  const std::string verdict =
      Verdict(Model(" %y = Softmax(%logits) @decision {axis = 1}\n output %y\n"), strategy);
  EXPECT_TRUE(verdict.starts_with("wrong_output: an output is off by ")) << verdict;
}

TEST_F(Judged, IsWrongWithoutADecisionAtTheEnd) {
  Strategy strategy = InBf16();
  strategy.target = "spoils_layer";
  const std::string verdict = Verdict(Model(" %y = Relu(%logits)\n output %y\n"), strategy);
  EXPECT_TRUE(verdict.starts_with("wrong_output: an output is off by ")) << verdict;
}

TEST(FindEnding, GoesFromTheOutputsToWhatIsMultiplied) {
  const auto ending =
      FindEnding(Model(" %p = Sigmoid(%logits)\n %y = Concat(%boxes, %p) {axis = 1}\n output %y\n"),
                 {.threads = 1, .bindings = {{"batch", 5}}});
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->decided, (std::vector<std::string>{"logits", "corners"}));
  EXPECT_EQ(ending->positions, (std::vector<std::size_t>{0}));
  EXPECT_EQ(ending->rest.order().size(), 3U);
}

TEST(FindEnding, IsNoneWithoutADecision) {
  EXPECT_FALSE(FindEnding(Model(" %y = Relu(%logits)\n output %y\n"),
                          {.threads = 1, .bindings = {{"batch", 5}}})
                   .has_value());
}

}  // namespace
}  // namespace msc::cost
