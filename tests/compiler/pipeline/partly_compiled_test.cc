#include "compiler/pipeline/partly_compiled.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"

namespace msc {
namespace {

class PartlyCompiledTest : public testing::Test {
 protected:
  PartlyCompiledTest() { RegisterAllTargets(registry_); }

  static Graph Parse(const std::string& text) {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    return graph;
  }
  PartlyCompiled Build(const Graph& graph) {
    Strategy strategy;
    strategy.target = "reference";
    Result<PartlyCompiled> built = PartlyCompiled::Build(graph, strategy, registry_, {});
    if (!built.ok()) throw UserError(built.failure().detail);
    return std::move(built).value();
  }

  TargetRegistry registry_;
};

Tensor Floats(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::From<float>(DType::kF32, {count}, values);
}

TEST_F(PartlyCompiledTest, CompilesWhatDependsOnNoRun) {
  // Nodes behind Unique, one of whose outputs is unused, are compiled if they do not read it, also
  // with an input left out. An input and a compiled value are outputs themselves.
  const Graph graph = Parse(R"(graph main {
    input %x : f32[4]
    const %top : f32[] = [2]
    %a = Abs(%x)
    %u, _, %which = Unique(%a)
    %c = Clip(%a, _, %top)
    %n = Neg(%u)
    output %c, %n, %x, %a
  })");
  EXPECT_EQ(FirstDecidedInRun(graph), "Unique");
  const PartlyCompiled model = Build(graph);
  EXPECT_EQ(model.compiled_nodes(), 2U);
  EXPECT_EQ(model.interpreted_nodes(), 2U);
  const std::vector<Tensor> inputs = {Floats({3, -1, 1, -3})};
  const std::vector<RunValue> made = model.Run(inputs);
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(*TensorIn(made[i]), wanted[i]) << i;
  EXPECT_EQ(*TensorIn(made[1]), Floats({-1, -3}));
}

TEST_F(PartlyCompiledTest, LeavesNestedGraphsTheValuesAroundThem) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[2]
    input %n : i64[]
    const %c : bool[] = [true]
    %a = Abs(%x)
    %y = Loop(%n, %c, %x) {
      body = graph b {
        captured %a : f32[2]
        input %i : i64[]
        input %go : bool[]
        input %v : f32[?]
        %w = Concat(%v, %a) {axis = 0}
        output %go, %w
      }
    }
    output %y
  })");
  const PartlyCompiled model = Build(graph);
  EXPECT_EQ(model.compiled_nodes(), 1U);
  const std::int64_t twice = 2;
  const Tensor n = Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&twice, 1));
  const std::vector<RunValue> made = model.Run(std::vector<Tensor>{Floats({1, -2}), n});
  EXPECT_EQ(*TensorIn(made[0]), Floats({1, -2, 1, 2, 1, 2}));
}

TEST_F(PartlyCompiledTest, LeavesNodesThatReadStringsToTheInterpreter) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[2]
    input %s : str[2]
    %a = Abs(%x)
    %b = Equal(%s, %s)
    output %a, %b
  })");
  EXPECT_EQ(FirstDecidedInRun(graph), "Equal");
  const PartlyCompiled model = Build(graph);
  EXPECT_EQ(model.compiled_nodes(), 1U);
  Tensor words(DType::kString, {2});
  words.mutable_strings() = {"a", "b"};
  const std::vector<Tensor> inputs = {Floats({1, -1}), words};
  const std::vector<RunValue> made = model.Run(inputs);
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(*TensorIn(made[i]), wanted[i]) << i;
}

TEST_F(PartlyCompiledTest, OfFixedSizesIsCompiledWhole) {
  const Graph graph = Parse("graph g { input %x : f32[2] %y = Neg(%x) output %y }");
  EXPECT_FALSE(FirstDecidedInRun(graph));
  EXPECT_EQ(Build(graph).interpreted_nodes(), 0U);
}

TEST_F(PartlyCompiledTest, RefusesAnotherNumberOfInputs) {
  const Graph graph = Parse("graph g { input %x : f32[2] %y = NonZero(%x) output %y }");
  EXPECT_THROW((void)Build(graph).Run({}), UserError);
}

}  // namespace
}  // namespace msc
