#include "compiler/ops/branches.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

constexpr const char* kTwoBranches = R"(graph net {
  input %x : f32[4,8]
  input %c : bool[]
  const %w : f32[8,8] = random 1
  const %v : f32[8,8] = random 2
  %s = Sigmoid(%x) @shared
  %a1 = MatMul(%s, %w) @then1
  %a2 = Relu(%a1) @then2
  %b = MatMul(%s, %v) @else
  %y = Where(%c, %a2, %b) @choice
  output %y
})";

Graph Parsed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// Returns a line for each node with guards, such as "then1: c", "else: not c"; then the choices.
std::string Text(const Graph& graph, const Branches& branches) {
  std::string text;
  for (const NodeId id : graph.order()) {
    const auto guards = branches.guards.find(id);
    if (guards == branches.guards.end()) continue;
    text += graph.node(id).name + ":";
    for (const Guard& guard : guards->second) {
      text += (guard.value ? " " : " not ") + graph.value(guard.condition).name;
    }
    text += "\n";
  }
  for (const NodeId id : branches.choices) text += graph.node(id).name + " chooses\n";
  return text;
}

std::string BranchesOf(const std::string& text) {
  const Graph graph = Parsed(text);
  return Text(graph, FindBranchesWorthAsking(graph));
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

Tensor Truth(bool value, const Dims& dims = {}) {
  Tensor tensor(DType::kBool, dims);
  tensor.MutableValues<std::uint8_t>()[0] = value ? 1 : 0;
  return tensor;
}

TEST(Branches, AreWhatOnlyOneOperandReads) {
  EXPECT_EQ(BranchesOf(kTwoBranches), "then1: c\nthen2: c\nelse: not c\nchoice chooses\n");
}

TEST(Branches, LeaveOutWhatIsAlsoReadElsewhere) {
  EXPECT_EQ(BranchesOf(With(kTwoBranches, "output %y", "output %y\n  output %a1")),
            "then2: c\nelse: not c\nchoice chooses\n");
  EXPECT_EQ(BranchesOf(With(kTwoBranches, "Where(%c, %a2, %b)", "Where(%c, %a2, %a2)")), "");
}

TEST(Branches, NeedOneBooleanThatOnlyARunKnows) {
  EXPECT_EQ(BranchesOf(With(kTwoBranches, "%c : bool[]", "%c : bool[4,1]")), "");
  EXPECT_EQ(BranchesOf(With(kTwoBranches, "input %c : bool[]", "const %c : bool[] = [true]")), "");
  EXPECT_EQ(BranchesOf(With(kTwoBranches, "%c : bool[]", "%c : bool[1]")),
            "then1: c\nthen2: c\nelse: not c\nchoice chooses\n");
}

TEST(Branches, NeedOperandsOfTheOutputsShape) {
  const std::string one_row = With(kTwoBranches, "const %v : f32[8,8]", "const %v : f32[8,1]");
  EXPECT_EQ(BranchesOf(one_row), "");
}

TEST(Branches, AreComputedWithOthersWhereThatIsCheap) {
  EXPECT_EQ(BranchesOf(R"(graph net {
  input %x : f32[4,8]
  input %c : bool[]
  %a = Relu(%x) @then
  %b = Neg(%x) @else
  %y = Where(%c, %a, %b) @choice
  output %y
})"),
            "");
}

TEST(Branches, OfABranchNeedBothConditions) {
  EXPECT_EQ(BranchesOf(R"(graph net {
  input %x : f32[4,8]
  input %c : bool[]
  input %d : f32[]
  const %w : f32[8,8] = random 1
  const %zero : f32[] = [0]
  %positive = Greater(%d, %zero) @compare
  %a = MatMul(%x, %w) @inner_then
  %a2 = MatMul(%a, %w) @inner_then2
  %b = MatMul(%x, %w) @inner_else
  %i = Where(%positive, %a2, %b) @inner
  %e = MatMul(%b, %w) @else
  %y = Where(%c, %i, %e) @outer
  output %y
})"),
            "compare: c\ninner_then: c positive\ninner_then2: c positive\ninner: c\nelse: not c\n"
            "inner chooses\nouter chooses\n");
}

TEST(Branches, WaitForConditionsThatAreMadeLater) {
  EXPECT_EQ(BranchesOf(R"(graph net {
  input %x : f32[4,8]
  input %d : f32[]
  const %w : f32[8,8] = random 1
  const %zero : f32[] = [0]
  %a = MatMul(%x, %w) @early
  %c = Greater(%d, %zero) @compare
  %b = MatMul(%x, %w) @late
  %y = Where(%c, %a, %b) @choice
  output %y
})"),
            "late: not c\nchoice chooses\n");
}

std::size_t ConditionalSteps(const Executable& executable) {
  std::size_t count = 0;
  for (const Step& step : executable.steps()) count += step.conditions.empty() ? 0 : 1;
  return count;
}

TEST(Branches, OnTheirOwnRunOnEveryTarget) {
  const Graph graph = Parsed(kTwoBranches);
  const TargetRegistry targets = Targets();
  for (const std::string target : {"reference", "native", "onednn"}) {
    Strategy strategy;
    strategy.target = target;
    auto executable = Compile(graph, strategy, targets, {});
    ASSERT_TRUE(executable.ok()) << executable.failure().detail;
    EXPECT_GE(ConditionalSteps(executable.value()), 2U) << target;
    for (const bool truth : {true, false, true}) {
      const std::vector<Tensor> inputs = {RandomTensor({4, 8}, 3), Truth(truth)};
      const std::vector<Tensor> wanted = Interpret(graph, inputs);
      EXPECT_LT(Error(executable.value().Run(inputs)[0], wanted[0]), 1e-5) << target << truth;
      std::vector<StepTime> times;
      EXPECT_LT(Error(executable.value().Profile(inputs, times)[0], wanted[0]), 1e-5);
      EXPECT_EQ(times.size(), executable.value().steps().size());
    }
  }
}

TEST(Branches, ThatARunLeavesOutReadNothing) {
  // The branch would read behind the end of its table.
  const Graph graph = Parsed(R"(graph net {
  input %x : f32[4,8]
  input %c : bool[]
  input %i : i64[4]
  const %table : f32[3,8] = random 1
  const %w : f32[8,8] = random 2
  %rows = Gather(%table, %i) @lookup
  %a = MatMul(%rows, %w) @then
  %y = Where(%c, %a, %x) @choice
  output %y
})");
  Strategy strategy;
  strategy.target = "reference";
  auto executable = Compile(graph, strategy, Targets(), {});
  ASSERT_TRUE(executable.ok()) << executable.failure().detail;
  Tensor far(DType::kI64, {4});
  for (std::int64_t& index : far.MutableValues<std::int64_t>()) index = 1000;
  std::vector<Tensor> inputs = {RandomTensor({4, 8}, 3), Truth(false), far};
  EXPECT_EQ(Error(executable.value().Run(inputs)[0], inputs[0]), 0);
  EXPECT_EQ(Error(Interpret(graph, inputs)[0], inputs[0]), 0);
  inputs[1] = Truth(true);
  EXPECT_NE(Refusal([&] { (void)executable.value().Run(inputs); }), "accepted");
  EXPECT_NE(Refusal([&] { (void)Interpret(graph, inputs); }), "accepted");
}

/// A branch takes rows that are lists, the other takes one row.
constexpr const char* kMisfit = R"(graph net {
  input %x : f32[n,8]
  input %c : bool[1]
  %y = If(%c) {
    then_branch = graph t {
      captured %x : f32[n,8] const %w : f32[8,8] = random 1 const %axes : i64[1] = [0]
      %m = MatMul(%x, %w) %s = ReduceSum(%m, %axes) {keepdims = 0} output %s
    },
    else_branch = graph e {
      captured %x : f32[n,8] const %axes : i64[1] = [0] %q = Squeeze(%x, %axes) output %q
    }
  }
  output %y
})";

TEST(Branches, ThatDoNotFitTheSizesRefuseToRunWhereTheyAreChosen) {
  const Graph graph = Parsed(kMisfit);
  for (const std::string target : {"reference", "native"}) {
    Strategy strategy;
    strategy.target = target;
    auto executable = Compile(graph, strategy, Targets(), {.bindings = {{"n", 4}}});
    ASSERT_TRUE(executable.ok()) << executable.failure().detail;
    std::vector<Tensor> inputs = {RandomTensor({4, 8}, 3), Truth(true, {1})};
    EXPECT_LT(Error(executable.value().Run(inputs)[0], Interpret(graph, inputs)[0]), 1e-5);
    inputs[1] = Truth(false, {1});
    EXPECT_EQ(Refusal([&] { (void)executable.value().Run(inputs); }),
              "node 'If.refuse' (msc.Refuse): the branch does not fit the sizes of the model's "
              "inputs: node 'Squeeze' (Squeeze): axis 0 of [4,8] is not 1");
    auto one = Compile(graph, strategy, Targets(), {.bindings = {{"n", 1}}});
    ASSERT_TRUE(one.ok()) << one.failure().detail;
    inputs[0] = RandomTensor({1, 8}, 3);
    EXPECT_EQ(Error(one.value().Run(inputs)[0], Interpret(graph, inputs)[0]), 0);
  }
}

TEST(Branches, ThatDoNotFitStayInTheCanonicalGraph) {
  Graph graph = Parsed(kMisfit);
  InferTypes(graph, {{"n", 4}});
  Canonicalize(graph);
  EXPECT_EQ(graph.node(graph.order().front()).op, "If");
}

/// Returns a random graph of products, sums and choices by three booleans, of which choices read
/// each other's results.
Graph RandomChoices(std::uint64_t seed) {
  Rng rng(seed);
  Graph graph("choices");
  const ValueType matrix{.dtype = DType::kF32, .shape = Shape{4, 8}};
  std::vector<ValueId> values = {graph.AddInput("x", matrix)};
  std::vector<ValueId> conditions;
  for (const std::string name : {"c0", "c1", "c2"}) {
    conditions.push_back(graph.AddInput(name, {.dtype = DType::kBool, .shape = Shape{}}));
  }
  const ValueId weights = graph.AddConstant("w", [&] {
    Tensor tensor = RandomTensor({8, 8}, seed);
    for (float& value : tensor.MutableValues<float>()) value *= 0.3F;
    return tensor;
  }());
  const auto any = [&](const std::vector<ValueId>& list) { return list[rng.Below(list.size())]; };
  for (int i = 0; i < 16; ++i) {
    Node node;
    switch (rng.Below(4)) {
      case 0:
        node = {.op = "MatMul", .inputs = {any(values), weights}};
        break;
      case 1:
        node = {.op = "Add", .inputs = {any(values), any(values)}};
        break;
      default:
        node = {.op = "Where", .inputs = {any(conditions), any(values), any(values)}};
        break;
      case 3:
        // A condition that a node makes, perhaps inside a branch.
        const ValueId truth =
            graph.AddValue(graph.FreeValueName("v"), {.dtype = DType::kBool, .shape = Shape{}});
        node = {.op = "Xor", .inputs = {any(conditions), any(conditions)}, .outputs = {truth}};
        conditions.push_back(truth);
        break;
    }
    if (node.outputs.empty()) {
      node.outputs = {graph.AddValue(graph.FreeValueName("v"), matrix)};
      values.push_back(node.outputs[0]);
    }
    graph.AddNode(std::move(node));
  }
  graph.AddOutput(values.back());
  InferTypes(graph);
  return graph;
}

class RandomBranches : public testing::TestWithParam<int> {};

TEST_P(RandomBranches, GiveWhatComputingAllGives) {
  const TargetRegistry targets = Targets();
  for (int i = 0; i < 20; ++i) {
    const Graph graph = RandomChoices(static_cast<std::uint64_t>(GetParam() * 100 + i));
    auto executable = BuildExecutable(graph, targets.Get("reference"), targets, {});
    ASSERT_TRUE(executable.ok()) << executable.failure().detail;
    for (int truths = 0; truths < 8; ++truths) {
      const std::vector<Tensor> inputs = {RandomTensor({4, 8}, 3), Truth((truths & 1) != 0),
                                          Truth((truths & 2) != 0), Truth((truths & 4) != 0)};
      EXPECT_LT(Error(executable.value().Run(inputs)[0], Interpret(graph, inputs)[0]), 1e-6)
          << Print(graph);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomBranches, testing::Range(0, 10));

}  // namespace
}  // namespace msc
