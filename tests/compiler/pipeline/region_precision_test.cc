#include "compiler/pipeline/region_precision.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "compiler/targets/register.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

// Two convolutions and a matrix product.
constexpr const char* kNet = R"(graph net {
  input %x : f32[1,4,6,6]
  const %w1 : f32[4,4,3,3] = random 1
  const %w2 : f32[4,4,3,3] = random 2
  const %w3 : f32[144,5] = random 3
  %c1 = Conv(%x, %w1) @one {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @one_relu
  %c2 = Conv(%r1, %w2) @two {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %f = Flatten(%c2) @flat {axis = 1}
  %y = MatMul(%f, %w3) @head
  output %y
})";

class RegionPrecision : public testing::Test {
 protected:
  RegionPrecision() : graph_(ParseGraph(kNet)) {
    InferTypes(graph_);
    for (const char* layer : {"one", "two", "head"}) {
      int8_.quantize.layers[layer] = Precision::kInt8;
      int8_.quantize.weights[layer].bits = 4;
    }
    for (const char* tensor : {"x", "r1", "c2", "f", "y"}) {
      int8_.quantize.activations[tensor] = {.dtype = "i8", .scale = 0.0625, .zero_point = 0};
    }
  }

  [[nodiscard]] Tensor Run(const Strategy& strategy) const {
    TargetRegistry targets;
    RegisterAllTargets(targets);
    Result<Executable> built = Compile(graph_, strategy, targets, {});
    EXPECT_TRUE(built.ok()) << built.failure().detail;
    return built.value().Run({{RandomTensor({1, 4, 6, 6}, 9)}}).at(0);
  }

  Graph graph_;
  Strategy int8_;
};

TEST(RegionPrecisionOption, StandsInTheSpec) {
  EXPECT_EQ(PrecisionAsked("native"), std::nullopt);
  EXPECT_EQ(PrecisionAsked("native:precision=strategy"), std::nullopt);
  EXPECT_EQ(PrecisionAsked("native:precision=f32:threads=2"), Precision::kF32);
  EXPECT_EQ(WithPrecision("native:threads=2", Precision::kBF16), "native:precision=bf16:threads=2");
  EXPECT_EQ(WithPrecision("native:precision=bf16:threads=2", std::nullopt), "native:threads=2");
  TargetRegistry targets;
  RegisterAllTargets(targets);
  EXPECT_EQ(targets.Get("reference:precision=strategy").spec(), "reference");
  EXPECT_EQ(targets.Get("reference:precision=bf16").spec(), "reference:precision=bf16");
  EXPECT_EQ(Refusal([&] { (void)targets.Get("reference:precision=int8"); }),
            "'reference:precision' must be strategy, f32 or bf16, not 'int8'");
}

TEST_F(RegionPrecision, OfARegionGoesBeforeThatOfTheTargetAndOfTheStrategy) {
  EXPECT_EQ(WithPrecisionsOfRegions(graph_, int8_), int8_);
  Strategy strategy = int8_;
  strategy.target = "reference:precision=bf16";
  strategy.partition = {{{"one", "one_relu"}, "reference:precision=f32"},
                        {{"two"}, "reference:threads=2"}};
  const Strategy plain = WithPrecisionsOfRegions(graph_, strategy);
  EXPECT_EQ(plain.target, "reference");
  EXPECT_EQ(plain.partition[0].target, "reference");
  EXPECT_EQ(plain.partition[1].target, "reference:threads=2");
  EXPECT_EQ(plain.quantize.layers,
            (PrecisionByLayer{
                {"one", Precision::kF32}, {"two", Precision::kInt8}, {"head", Precision::kBF16}}));
  EXPECT_TRUE(plain.quantize.weights.contains("one"))
      << "f32 layers keep the grid of their weights";
  EXPECT_FALSE(plain.quantize.weights.contains("head")) << "bf16 layers have none";
  EXPECT_TRUE(SameGraph(ApplyStrategy(graph_, strategy), ApplyStrategy(graph_, plain)));
  EXPECT_FALSE(SameGraph(ApplyStrategy(graph_, strategy), ApplyStrategy(graph_, int8_)));
  EXPECT_EQ(Run(strategy), Run(plain));
}

TEST_F(RegionPrecision, OfAllLayersIsThatOfAStrategyThatSaysSo) {
  Strategy plain;
  int8_.quantize.weights.clear();
  int8_.target = "reference:precision=f32";
  plain.target = "reference";
  EXPECT_EQ(Run(int8_), Run(plain));
  plain.target = "reference:precision=bf16";
  Strategy listed;
  listed.target = "reference";
  for (const char* layer : {"one", "two", "head"}) listed.quantize.layers[layer] = Precision::kBF16;
  EXPECT_EQ(WithPrecisionsOfRegions(graph_, plain), listed);
  EXPECT_EQ(Run(plain), Run(listed));
}

}  // namespace
}  // namespace msc
