#include "gym/app/bench_rows.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/pipeline/batch.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

class BenchRows : public testing::Test {
 protected:
  BenchRows() {
    InferTypes(graph_);
    setup_.graph = &graph_;
    setup_.compile = {.threads = 1, .bindings = BatchBindings(graph_, 2)};
    setup_.batch = 2;
    setup_.inputs = RandomInputs(BoundInputs(graph_, setup_.compile.bindings), 1);
    setup_.roof.f32.per_second = 1e9;
  }

  Graph graph_ = ParseGraph(R"(graph net {
    input %x : f32[n,4]
    const %w : f32[3,4] = random 1
    %a = Gemm(%x, %w) @fc {transB = 1}
    %y = Relu(%a) @relu
    output %y
  })");
  TargetRegistry targets_ = MakeTargets();
  BenchSetup setup_;
  Variant f32_ = {.name = "f32"};
};

TEST_F(BenchRows, RunOnInputsOfTheBatch) {
  ASSERT_EQ(setup_.inputs.size(), 1U);
  EXPECT_EQ(setup_.inputs[0].dims(), (Dims{2, 4}));
  const BenchRow row = MakeRow("reference", f32_, setup_, targets_);
  EXPECT_EQ(row.why, "");
  EXPECT_EQ(row.outputs.at(0).dims(), (Dims{2, 3}));
  EXPECT_TRUE(row.elsewhere.empty());
}

TEST_F(BenchRows, KnowTheLeastTimeOfTheirArithmetic) {
  // 2 samples of 3 sums of 4 products, each a multiplication and an addition, and 6 comparisons.
  const BenchRow row = MakeRow("reference", f32_, setup_, targets_);
  EXPECT_GE(row.roof_seconds, 48e-9);
  EXPECT_LT(row.roof_seconds, 60e-9);
}

TEST_F(BenchRows, OfAnUnknownTargetSayWhy) {
  const BenchRow row = MakeRow("nowhere", f32_, setup_, targets_);
  EXPECT_NE(row.why.find("nowhere"), std::string::npos) << row.why;
  EXPECT_FALSE(row.executable);
}

TEST_F(BenchRows, OfAVariantThatIsImpossibleSayWhy) {
  const BenchRow row =
      MakeRow("reference", {.name = "int8", .why = "no layer can be int8"}, setup_, targets_);
  EXPECT_EQ(row.why, "no layer can be int8");
  EXPECT_FALSE(row.executable);
}

TEST_F(BenchRows, WhoseOutputsDifferInF32HaveNoFigures) {
  std::vector<BenchRow> rows;
  rows.push_back(MakeRow("reference", f32_, setup_, targets_));
  rows.push_back(MakeRow("reference", f32_, setup_, targets_));
  rows[1].outputs[0].MutableValues<float>()[0] += 1;
  CompareOutputs(setup_, rows);
  EXPECT_EQ(rows[0].why, "");
  EXPECT_NE(rows[1].why, "");
  EXPECT_FALSE(rows[1].executable);
}

TEST_F(BenchRows, OfACompressedVariantAreComparedWithF32) {
  std::vector<BenchRow> rows;
  rows.push_back(MakeRow("reference", f32_, setup_, targets_));
  rows.push_back(
      MakeRow("reference", AllLayersIn(Precision::kBF16, setup_, targets_), setup_, targets_));
  CompareOutputs(setup_, rows);
  EXPECT_EQ(rows[1].why, "");
  ASSERT_TRUE(rows[1].f32_error);
  EXPECT_GT(*rows[1].f32_error, 0);
  EXPECT_LT(*rows[1].f32_error, 0.05);
}

TEST_F(BenchRows, InAPrecisionChangeEachLayerThatAllowsIt) {
  const Variant bf16 = AllLayersIn(Precision::kBF16, setup_, targets_);
  EXPECT_EQ(bf16.strategy.quantize.layers, (PrecisionByLayer{{"fc", Precision::kBF16}}));
  const Graph plain = ParseGraph("graph g { input %x : f32[1]\n%y = Relu(%x)\noutput %y }");
  setup_.graph = &plain;
  EXPECT_EQ(AllLayersIn(Precision::kBF16, setup_, targets_).why, "no layer can be bf16");
}

TEST(RandomInputs, AreTheSameForASeed) {
  ValueType type;
  type.dtype = DType::kF32;
  type.shape = Shape{2};
  const std::vector<ValueType> types = {type};
  const auto values = [&](std::uint64_t seed) {
    const std::vector<Tensor> inputs = RandomInputs(types, seed);
    return std::vector<float>(inputs[0].Values<float>().begin(), inputs[0].Values<float>().end());
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

}  // namespace
}  // namespace msc::gym
