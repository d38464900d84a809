#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/compress/quantize/no_layers.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/fused.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "tests/compiler/compress/quantize/support.h"
#include "tests/compiler/passes/support.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

using testing::Calibrate;
using testing::Difference;
using testing::Everything;
using testing::Parse;
using testing::RandomInputs;
using testing::Skeleton;

// A residual block, a pool and a classifier.
constexpr const char* kNet = R"(graph main {
  input %x : f32[n,3,8,8]
  const %w1 : f32[4,3,3,3] = random 1
  const %b1 : f32[4] = random 2
  const %w2 : f32[4,4,3,3] = random 3
  const %w3 : f32[5,4] = random 4
  const %b3 : f32[5] = random 5
  %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
  %a2 = Add(%c2, %r1) @add
  %p = GlobalAveragePool(%a2) @pool
  %f = Flatten(%p) @flat
  %y = Gemm(%f, %w3, %b3) @fc {transB = 1}
  output %y
})";

std::string Describe(const std::vector<QuantizableLayer>& layers) {
  std::string text;
  for (const QuantizableLayer& layer : layers) {
    text += layer.op + " " + layer.name + ": " + layer.input + " -> " + layer.output;
    if (!layer.residual.empty()) text += " + " + layer.residual;
    if (!layer.inner.empty()) text += " from " + layer.inner;
    text += " as";
    for (const Precision precision : layer.allowed) text += " " + std::string(Name(precision));
    text += "\n";
  }
  return text;
}

TEST(FindQuantizableLayers, NamesWhatOneFusedLayerReadsAndMakes) {
  EXPECT_EQ(Describe(FindQuantizableLayers(Parse(kNet))),
            "Conv conv1: x -> r1 as f32 bf16 int8\n"
            "Conv conv2: r1 -> a2 + r1 from c2 as f32 bf16 int8\n"
            "Gemm fc: f -> y as f32 bf16 int8\n");
}

TEST(FindQuantizableLayers, LeavesOutWhatIsQuantizedAlready) {
  Graph graph = Parse(kNet);
  QuantizePlan plan{
      .layers = {{"conv1", Precision::kInt8}}, .activations = Calibrate(graph), .weights = {}};
  ApplyQuantizePlan(plan, graph);
  EXPECT_EQ(Describe(FindQuantizableLayers(graph)),
            "Conv conv2: r1 -> a2 + r1 from c2 as f32 bf16 int8\n"
            "Gemm fc: f -> y as f32 bf16 int8\n");
}

// --- Calibrator ---

TEST(WhyNoQuantizableLayers, TellsWeightsOfOtherTypesFromQuantizedOnes) {
  EXPECT_EQ(WhyNoQuantizableLayers(Parse(R"(graph main {
  input %x : f16[2,3]
  const %w : f16[3,4] = splat 0.5
  %y = MatMul(%x, %w) @layer
  output %y
})")),
            "the weights of layer 'layer' are f16; only layers in f32 are quantized: export the "
            "model with f32 weights");
  EXPECT_EQ(
      WhyNoQuantizableLayers(Parse(R"(graph main {
  input %x : i8[2,3]
  const %s : f32[] = [0.5]
  %y = DequantizeLinear(%x, %s)
  output %y
})")),
      "the model is quantized already: run, bench, partition and compile take it as it is; to "
      "quantize it otherwise, give the model in f32");
}

// A graph output stays what a node makes, so such a layer is not folded; no sample ever gives its
// input a scale.
TEST(FindQuantizableLayers, LeavesOutALayerOfConstants) {
  Graph graph = Parse(R"(graph main {
  input %x : f32[2,3]
  const %c : f32[2,3] = random 1
  const %w : f32[3,4] = random 2
  %y = MatMul(%x, %w) @layer
  %z = MatMul(%c, %w) @constants
  output %y
  output %z
})");
  const auto layers = FindQuantizableLayers(graph);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].name, "layer");
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  EXPECT_NO_THROW(ApplyQuantizePlan(plan, graph));
}

TEST(Calibrator, ListsTensorsInGraphOrder) {
  EXPECT_EQ(Calibrator(Parse(kNet)).tensors(),
            (std::vector<std::string>{"x", "r1", "c2", "a2", "f", "y"}));
}

TEST(Calibrator, UsesU8WhereNoValueIsNegative) {
  const auto scales = Calibrate(Parse(kNet), {.method = "minmax", .percentile = 100});
  EXPECT_EQ(scales.at("r1").dtype, "u8");
  EXPECT_EQ(scales.at("x").dtype, "i8");
  for (const auto& [name, scale] : scales) {
    // What only other runtimes round has a zero point.
    EXPECT_EQ(scale.zero_point > 0, name == "c2") << name;
    EXPECT_EQ(static_cast<double>(static_cast<float>(scale.scale)), scale.scale) << name;
  }
}

Graph Chain() {
  return Parse(R"(graph main {
    input %x : f32[1,1,4,4]
    const %w : f32[1,1,1,1] = [1]
    %a = Conv(%x, %w) @a
    %p = MaxPool(%a) {kernel_shape = [2, 2], strides = [2, 2]}
    %b = Conv(%p, %w) @b
    output %b
  })");
}

TEST(Calibrator, TurnsRangesIntoScales) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  calibrator.Observe("x", std::vector<float>{-2.54F, 1.0F});
  calibrator.Observe("a", std::vector<float>{0.0F, 5.1F});
  calibrator.Observe("p", std::vector<float>{0.0F, 2.55F});
  calibrator.Observe("b", std::vector<float>{0.0F, 0.0F});
  const auto scales = calibrator.Scales({.method = "minmax", .percentile = 100});
  EXPECT_EQ(scales.at("x"), (TensorScale{"i8", 2.54F / 127, 0}));
  // MaxPool only moves values: one range, so that nothing is requantized there.
  EXPECT_EQ(scales.at("a"), (TensorScale{"u8", 5.1F / 255, 0}));
  EXPECT_EQ(scales.at("p"), scales.at("a"));
  EXPECT_EQ(scales.at("b"), (TensorScale{"u8", 1.0, 0}));
}

TEST(Calibrator, GivesZeroPointsWhereTheyAreAskedFor) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  calibrator.Observe("x", std::vector<float>{-1.0F, 0.5F, 4.0F});
  calibrator.Observe("a", std::vector<float>{-2.0F, -0.5F});
  calibrator.Observe("p", std::vector<float>{-1.0F});
  calibrator.Observe("b", std::vector<float>{0.0F, 5.1F});
  const auto scales = calibrator.Scales({.method = "minmax", .affine = true});
  // From the least to the largest value, with 0 on a step of its own.
  EXPECT_EQ(scales.at("x"), (TensorScale{"u8", 5.0F / 255, 51}));
  EXPECT_EQ(scales.at("a"), (TensorScale{"u8", 2.0F / 255, 255}));
  EXPECT_EQ(scales.at("p"), scales.at("a"));
  EXPECT_EQ(scales.at("b"), (TensorScale{"u8", 5.1F / 255, 0}));
  EXPECT_EQ(calibrator.Scales({.method = "minmax"}).at("x"), (TensorScale{"i8", 4.0F / 127, 0}));
}

TEST(Calibrator, GivesZeroPointsOnlyToWhatLayersReadAndWhereStepsBecomeFiner) {
  const Graph graph = Chain();
  const auto scale = [&](float low, const std::string& name) {
    Calibrator seen(graph);
    for (const std::string& each : seen.tensors()) {
      seen.Observe(each, std::vector<float>{low, 4.0F});
    }
    return seen.Scales({.method = "minmax", .affine = true, .affine_gain = 1.25}).at(name);
  };
  EXPECT_EQ(scale(-1.0F, "x"), (TensorScale{"u8", 5.0F / 255, 51}));
  EXPECT_EQ(scale(-3.0F, "x").dtype, "i8");  // 7 / 255 is not much finer than 4 / 127
  EXPECT_EQ(scale(-1.0F, "a").dtype, "u8");  // has the range of what the second layer reads
  EXPECT_EQ(scale(-1.0F, "b").dtype, "i8");  // no layer reads it
}

TEST(Calibrator, CutsTheTailByPercentile) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) / 1000;
  values.back() = 64.0F;
  for (const std::string& name : calibrator.tensors()) calibrator.Observe(name, values);
  const auto scales = calibrator.Scales({.method = "percentile", .percentile = 99});
  // 2048 bins up to 64.
  EXPECT_GE(scales.at("x").scale * 255, 0.99);
  EXPECT_LE(scales.at("x").scale * 255, 0.99 + 64.0 / 2048);
  const auto all = calibrator.Scales({.method = "percentile", .percentile = 100});
  EXPECT_EQ(all.at("x").scale, 64.0F / 255);
}

TEST(Calibrator, NeverGivesASubnormalScale) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  for (const std::string& name : calibrator.tensors()) {
    calibrator.Observe(name, std::vector<float>{1e-38F});
  }
  EXPECT_EQ(calibrator.Scales({}).at("x").scale, std::numeric_limits<float>::min());
}

template <class Call>
std::string UserErrorOf(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Calibrator, NamesATensorItNeverSaw) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  calibrator.Observe("x", std::vector<float>{1});
  EXPECT_EQ(UserErrorOf([&] { (void)calibrator.Scales({}); }),
            "calibration: tensor 'a' was never observed; run at least one batch through the model "
            "first");
}

TEST(Calibrator, NamesATensorThatIsNotFinite) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  calibrator.Observe("x", std::vector<float>{1, INFINITY, std::nanf("")});
  EXPECT_EQ(UserErrorOf([&] { (void)calibrator.Scales({}); }),
            "calibration: tensor 'x' held 2 values that are not finite; check the model and the "
            "calibration inputs");
}

TEST(Calibrator, RefusesATensorItDoesNotNeed) {
  const Graph graph = Chain();
  Calibrator calibrator(graph);
  EXPECT_EQ(UserErrorOf([&] { calibrator.Observe("w", std::vector<float>{1}); }),
            "calibration: 'w' is not a tensor that a quantizable layer reads or writes");
}

TEST(WithOutputs, NamesAValueThatDoesNotExist) {
  EXPECT_EQ(UserErrorOf([] { (void)WithOutputs(Chain(), std::vector<std::string>{"no"}); }),
            "graph 'main' has no value 'no'");
}

// --- ApplyQuantizePlan: what it builds ---

QuantizePlan PlanFor(const PrecisionByLayer& layers) {
  QuantizePlan plan{.layers = layers, .activations = {}, .weights = {}};
  plan.activations = {{"x", {"i8", 0.03125, 0}},
                      {"r1", {"u8", 0.125, 0}},
                      {"a2", {"i8", 0.25, 0}},
                      {"f", {"i8", 0.0625, 0}},
                      {"y", {"i8", 0.5, 0}}};
  return plan;
}

struct PlanCase {
  std::string label;
  PrecisionByLayer layers;
  std::string applied;  ///< Skeleton after ApplyQuantizePlan
  std::string fused;    ///< Skeleton after FuseOps
};

void PrintTo(const PlanCase& test, std::ostream* out) {
  *out << test.label;
}

class Plan : public ::testing::TestWithParam<PlanCase> {};

TEST_P(Plan, BuildsTheListedGraphAndFusesToTheListedOne) {
  Graph graph = Parse(kNet);
  ApplyQuantizePlan(PlanFor(GetParam().layers), graph);
  EXPECT_EQ(Skeleton(graph), GetParam().applied);
  Verify(graph);
  Graph inferred = graph;
  InferTypes(inferred);
  EXPECT_EQ(Print(inferred), Print(graph));
  Graph fused = graph;
  FuseOps(fused);
  EXPECT_EQ(Skeleton(fused), GetParam().fused);
  testing::ExpectSound(FuseOps, graph, 0.02);
}

const std::vector<PlanCase> kPlans = {
    {"all int8",
     {{"conv1", Precision::kInt8}, {"conv2", Precision::kInt8}, {"fc", Precision::kInt8}},
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
x_dequantized:f32 = DequantizeLinear(x_quantized:i8, x_scale:f32, x_zero_point:i8) @x_dequantized
w1_dequantized:f32 = DequantizeLinear(w1_quantized:i8, w1_scale:f32, w1_zero_point:i8) @w1_dequantized
b1_dequantized:f32 = DequantizeLinear(b1_quantized:i32, b1_scale:f32) @b1_dequantized
c1:f32 = Conv(x_dequantized:f32, w1_dequantized:f32, b1_dequantized:f32) @conv1
r1:f32 = Relu(c1:f32) @relu1
r1_quantized:u8 = QuantizeLinear(r1:f32, r1_scale:f32, r1_zero_point:u8) @r1_quantized
r1_dequantized:f32 = DequantizeLinear(r1_quantized:u8, r1_scale:f32, r1_zero_point:u8) @r1_dequantized
w2_dequantized:f32 = DequantizeLinear(w2_quantized:i8, w2_scale:f32, w2_zero_point:i8) @w2_dequantized
c2:f32 = Conv(r1_dequantized:f32, w2_dequantized:f32) @conv2
a2:f32 = Add(c2:f32, r1_dequantized:f32) @add
a2_quantized:i8 = QuantizeLinear(a2:f32, a2_scale:f32, a2_zero_point:i8) @a2_quantized
a2_dequantized:f32 = DequantizeLinear(a2_quantized:i8, a2_scale:f32, a2_zero_point:i8) @a2_dequantized
p:f32 = GlobalAveragePool(a2_dequantized:f32) @pool
f:f32 = Flatten(p:f32) @flat
f_quantized:i8 = QuantizeLinear(f:f32, f_scale:f32, f_zero_point:i8) @f_quantized
f_dequantized:f32 = DequantizeLinear(f_quantized:i8, f_scale:f32, f_zero_point:i8) @f_dequantized
w3_dequantized:f32 = DequantizeLinear(w3_quantized:i8, w3_scale:f32, w3_zero_point:i8) @w3_dequantized
b3_dequantized:f32 = DequantizeLinear(b3_quantized:i32, b3_scale:f32) @b3_dequantized
y:f32 = Gemm(f_dequantized:f32, w3_dequantized:f32, b3_dequantized:f32) @fc
)",
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
r1_quantized:u8 = msc.Conv(x_quantized:i8, w1_quantized:i8, b1_quantized_f32:f32, _, w1_quantized_scales:f32) @conv1
a2_quantized:i8 = msc.Conv(r1_quantized:u8, w2_quantized:i8, _, r1_quantized:u8, w2_quantized_scales:f32) @conv2
p_narrow:i8 = msc.Pool(a2_quantized:i8) @pool
f_quantized:i8 = Flatten(p_narrow:i8) @flat
y:f32 = msc.Gemm(f_quantized:i8, w3_quantized:i8, b3_quantized_f32:f32, _, w3_quantized_scales:f32) @fc
)"},
    {"all bf16",
     {{"conv1", Precision::kBF16}, {"conv2", Precision::kBF16}, {"fc", Precision::kBF16}},
     R"(x_bf16:bf16 = Cast(x:f32) @x_bf16
x_f32:f32 = Cast(x_bf16:bf16) @x_f32
w1_f32:f32 = Cast(w1_bf16:bf16) @w1_f32
c1:f32 = Conv(x_f32:f32, w1_f32:f32, b1:f32) @conv1
r1:f32 = Relu(c1:f32) @relu1
r1_bf16:bf16 = Cast(r1:f32) @r1_bf16
r1_f32:f32 = Cast(r1_bf16:bf16) @r1_f32
w2_f32:f32 = Cast(w2_bf16:bf16) @w2_f32
c2:f32 = Conv(r1_f32:f32, w2_f32:f32) @conv2
a2:f32 = Add(c2:f32, r1_f32:f32) @add
a2_bf16:bf16 = Cast(a2:f32) @a2_bf16
a2_f32:f32 = Cast(a2_bf16:bf16) @a2_f32
p:f32 = GlobalAveragePool(a2_f32:f32) @pool
p_bf16:bf16 = Cast(p:f32) @p_bf16
p_f32:f32 = Cast(p_bf16:bf16) @p_f32
f:f32 = Flatten(p_f32:f32) @flat
f_bf16:bf16 = Cast(f:f32) @f_bf16
f_f32:f32 = Cast(f_bf16:bf16) @f_f32
w3_f32:f32 = Cast(w3_bf16:bf16) @w3_f32
y:f32 = Gemm(f_f32:f32, w3_f32:f32, b3:f32) @fc
)",
     R"(x_bf16:bf16 = Cast(x:f32) @x_bf16
r1_bf16:bf16 = msc.Conv(x_bf16:bf16, w1_bf16:bf16, b1:f32) @conv1
a2_bf16:bf16 = msc.Conv(r1_bf16:bf16, w2_bf16:bf16, _, r1_bf16:bf16) @conv2
p_bf16:bf16 = msc.Pool(a2_bf16:bf16) @pool
f_narrow:bf16 = Flatten(p_bf16:bf16) @flat
y:f32 = msc.Gemm(f_narrow:bf16, w3_bf16:bf16, b3:f32) @fc
)"},
    {"int8 in the middle",
     {{"conv2", Precision::kInt8}},
     R"(c1:f32 = Conv(x:f32, w1:f32, b1:f32) @conv1
r1:f32 = Relu(c1:f32) @relu1
r1_quantized:u8 = QuantizeLinear(r1:f32, r1_scale:f32, r1_zero_point:u8) @r1_quantized
r1_dequantized:f32 = DequantizeLinear(r1_quantized:u8, r1_scale:f32, r1_zero_point:u8) @r1_dequantized
w2_dequantized:f32 = DequantizeLinear(w2_quantized:i8, w2_scale:f32, w2_zero_point:i8) @w2_dequantized
c2:f32 = Conv(r1_dequantized:f32, w2_dequantized:f32) @conv2
a2:f32 = Add(c2:f32, r1_dequantized:f32) @add
p:f32 = GlobalAveragePool(a2:f32) @pool
f:f32 = Flatten(p:f32) @flat
y:f32 = Gemm(f:f32, w3:f32, b3:f32) @fc
)",
     R"(r1:f32 = msc.Conv(x:f32, w1:f32, b1:f32) @conv1
r1_quantized:u8 = QuantizeLinear(r1:f32, r1_scale:f32, r1_zero_point:u8) @r1_quantized
a2:f32 = msc.Conv(r1_quantized:u8, w2_quantized:i8, _, r1_quantized:u8, w2_quantized_scales:f32) @conv2
p:f32 = GlobalAveragePool(a2:f32) @pool
f:f32 = Flatten(p:f32) @flat
y:f32 = msc.Gemm(f:f32, w3:f32, b3:f32) @fc
)"},
    {"int8 at the ends",
     {{"conv1", Precision::kInt8}, {"conv2", Precision::kF32}, {"fc", Precision::kInt8}},
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
x_dequantized:f32 = DequantizeLinear(x_quantized:i8, x_scale:f32, x_zero_point:i8) @x_dequantized
w1_dequantized:f32 = DequantizeLinear(w1_quantized:i8, w1_scale:f32, w1_zero_point:i8) @w1_dequantized
b1_dequantized:f32 = DequantizeLinear(b1_quantized:i32, b1_scale:f32) @b1_dequantized
c1:f32 = Conv(x_dequantized:f32, w1_dequantized:f32, b1_dequantized:f32) @conv1
r1:f32 = Relu(c1:f32) @relu1
c2:f32 = Conv(r1:f32, w2:f32) @conv2
a2:f32 = Add(c2:f32, r1:f32) @add
p:f32 = GlobalAveragePool(a2:f32) @pool
f:f32 = Flatten(p:f32) @flat
f_quantized:i8 = QuantizeLinear(f:f32, f_scale:f32, f_zero_point:i8) @f_quantized
f_dequantized:f32 = DequantizeLinear(f_quantized:i8, f_scale:f32, f_zero_point:i8) @f_dequantized
w3_dequantized:f32 = DequantizeLinear(w3_quantized:i8, w3_scale:f32, w3_zero_point:i8) @w3_dequantized
b3_dequantized:f32 = DequantizeLinear(b3_quantized:i32, b3_scale:f32) @b3_dequantized
y:f32 = Gemm(f_dequantized:f32, w3_dequantized:f32, b3_dequantized:f32) @fc
)",
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
r1:f32 = msc.Conv(x_quantized:i8, w1_quantized:i8, b1_quantized_f32:f32, _, w1_quantized_scales:f32) @conv1
a2:f32 = msc.Conv(r1:f32, w2:f32, _, r1:f32) @conv2
p:f32 = GlobalAveragePool(a2:f32) @pool
p_narrow:i8 = QuantizeLinear(p:f32, f_scale:f32, f_zero_point:i8) @f_quantized_1
f_quantized:i8 = Flatten(p_narrow:i8) @flat
y:f32 = msc.Gemm(f_quantized:i8, w3_quantized:i8, b3_quantized_f32:f32, _, w3_quantized_scales:f32) @fc
)"},
    {"int8, then bf16",
     {{"conv1", Precision::kInt8}, {"conv2", Precision::kBF16}},
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
x_dequantized:f32 = DequantizeLinear(x_quantized:i8, x_scale:f32, x_zero_point:i8) @x_dequantized
w1_dequantized:f32 = DequantizeLinear(w1_quantized:i8, w1_scale:f32, w1_zero_point:i8) @w1_dequantized
b1_dequantized:f32 = DequantizeLinear(b1_quantized:i32, b1_scale:f32) @b1_dequantized
c1:f32 = Conv(x_dequantized:f32, w1_dequantized:f32, b1_dequantized:f32) @conv1
r1:f32 = Relu(c1:f32) @relu1
r1_bf16:bf16 = Cast(r1:f32) @r1_bf16
r1_f32:f32 = Cast(r1_bf16:bf16) @r1_f32
w2_f32:f32 = Cast(w2_bf16:bf16) @w2_f32
c2:f32 = Conv(r1_f32:f32, w2_f32:f32) @conv2
a2:f32 = Add(c2:f32, r1_f32:f32) @add
p:f32 = GlobalAveragePool(a2:f32) @pool
f:f32 = Flatten(p:f32) @flat
y:f32 = Gemm(f:f32, w3:f32, b3:f32) @fc
)",
     R"(x_quantized:i8 = QuantizeLinear(x:f32, x_scale:f32, x_zero_point:i8) @x_quantized
r1:f32 = msc.Conv(x_quantized:i8, w1_quantized:i8, b1_quantized_f32:f32, _, w1_quantized_scales:f32) @conv1
r1_bf16:bf16 = Cast(r1:f32) @r1_bf16
a2:f32 = msc.Conv(r1_bf16:bf16, w2_bf16:bf16, _, r1_bf16:bf16) @conv2
p:f32 = GlobalAveragePool(a2:f32) @pool
f:f32 = Flatten(p:f32) @flat
y:f32 = msc.Gemm(f:f32, w3:f32, b3:f32) @fc
)"},
};

INSTANTIATE_TEST_SUITE_P(Cases, Plan, ::testing::ValuesIn(kPlans));

// --- ApplyQuantizePlan: numbers ---

TEST(ApplyQuantizePlan, KeepsTheNumbersNearTheFloatOnes) {
  const Graph graph = Parse(kNet);
  const auto scales = Calibrate(graph);
  for (const auto& [precision, tolerance] :
       {std::pair{Precision::kInt8, 0.1}, std::pair{Precision::kBF16, 0.03}}) {
    QuantizePlan plan = Everything(graph, precision);
    plan.activations = scales;
    Graph applied = graph;
    ApplyQuantizePlan(plan, applied);
    testing::ExpectSameNumbers(graph, applied, tolerance);
    testing::ExpectSound(FuseOps, applied, 0.02);
  }
}

TEST(ApplyQuantizePlan, QuantizesWeightsHalfToEvenWithin127) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[2,1,1,4] = [127, -127, 0.5, 1.5, 0, 0, 0, 0]
    const %b : f32[2] = [1, 0.3]
    %y = Conv(%x, %w, %b) @conv {pads = [0, 3, 0, 0]}
    output %y
  })");
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {}},
                    graph);
  const Node& conv = graph.node(graph.FindNode("conv"));
  const Node& w = graph.node(graph.producer(conv.inputs[1]));
  const auto weights = graph.constant(w.inputs[0])->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(weights.begin(), weights.end()),
            (std::vector<int>{127, -127, 0, 2, 0, 0, 0, 0}));
  const auto scales = graph.constant(w.inputs[1])->Values<float>();
  EXPECT_EQ(std::vector<float>(scales.begin(), scales.end()), (std::vector<float>{1, 1}));
  EXPECT_EQ(AttrOr<std::int64_t>(w, "axis", 1), 0);
  const Node& b = graph.node(graph.producer(conv.inputs[2]));
  const auto bias = graph.constant(b.inputs[0])->Values<std::int32_t>();
  EXPECT_EQ(std::vector<int>(bias.begin(), bias.end()), (std::vector<int>{4, 1}));
}

/// Whoever turns a bias to integers at x_scale * w_scale, as ONNX Runtime does with one in f32,
/// would cut it.
TEST(ApplyQuantizePlan, RaisesTheScaleOfAChannelWhoseBiasWouldNotFit) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[4,1,1,1] = [1e-30, 0.5, 1e-7, 1e-40]
    const %b : f32[4] = [5, 1e-3, -5, 0]
    %y = Conv(%x, %w, %b) @conv
    output %y
  })");
  const float x_scale = 0.25F;
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", x_scale, 0}}},
                     .weights = {}},
                    graph);
  const Node& conv = graph.node(graph.FindNode("conv"));
  const Node& w = graph.node(graph.producer(conv.inputs[1]));
  const Node& b = graph.node(graph.producer(conv.inputs[2]));
  const auto scales = graph.constant(w.inputs[1])->Values<float>();
  const auto bias = graph.constant(b.inputs[0])->Values<std::int32_t>();
  const auto bias_scales = graph.constant(b.inputs[1])->Values<float>();
  EXPECT_EQ(scales[1], 0.5F / 127);  // as it would be without others
  const std::vector<double> wanted = {5, 1e-3, -5, 0};
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(bias_scales[c], x_scale * scales[c]);
    EXPECT_GE(bias_scales[c], std::numeric_limits<float>::min());
    EXPECT_LE(std::abs(bias[c]), 1 << 30);
    const auto step = static_cast<double>(bias_scales[c]);
    EXPECT_NEAR(bias[c] * step, wanted[c], 0.51 * step);
  }
  EXPECT_GT(std::abs(bias[0]), (1 << 30) - 5000);  // no coarser than it must be
}

/// Every scale is right for weights that are zero, as pruning leaves them; the bias is all there
/// is.
TEST(ApplyQuantizePlan, KeepsTheBiasOfAChannelWithoutWeights) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[3,1,1,1] = [0.5, 0, 0]
    const %b : f32[3] = [1, 0.1234567, 0]
    %y = Conv(%x, %w, %b) @conv
    output %y
  })");
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {}},
                    graph);
  const Node& b = graph.node(graph.producer(graph.node(graph.FindNode("conv")).inputs[2]));
  const auto bias = graph.constant(b.inputs[0])->Values<std::int32_t>();
  const auto scales = graph.constant(b.inputs[1])->Values<float>();
  EXPECT_FLOAT_EQ(static_cast<float>(bias[1]) * scales[1], 0.1234567F);
  EXPECT_EQ(bias[2], 0);
  EXPECT_GE(scales[2], std::numeric_limits<float>::min());
}

/// A bias that is not finite stays f32, and asks for no scale of the weights.
TEST(ApplyQuantizePlan, QuantizesWeightsBesideABiasThatIsNotFinite) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[3,1,1,1] = [0.5, 0, 0]
    const %b : f32[3] = [1, 2, 3]
    %y = Conv(%x, %w, %b) @conv
    output %y
  })");
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  graph.SetConstant(graph.FindValue("b"),
                    std::make_shared<const Tensor>(
                        Tensor::From<float>(DType::kF32, {3}, std::vector{1.0F, kNaN, kInfinity})));
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {}},
                    graph);
  const Node& conv = graph.node(graph.FindNode("conv"));
  EXPECT_EQ(graph.value(conv.inputs[2]).name, "b");
  const Node& w = graph.node(graph.producer(conv.inputs[1]));
  const auto levels = graph.constant(w.inputs[0])->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(levels.begin(), levels.end()), (std::vector{127, 0, 0}));
  for (const float scale : graph.constant(w.inputs[1])->Values<float>()) {
    EXPECT_TRUE(std::isfinite(scale) && scale > 0) << scale;
  }
}

/// A channel that batch normalization switched off: weights of 1e-7, a bias of 5; and one of zeros.
TEST(ApplyQuantizePlan, MeansTheSameToOnnxRuntimeWhereABiasDwarfsItsWeights) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,3,6,6]
    const %w : f32[5,3,3,3] = random 1
    const %small : f32[5,1,1,1] = [1, 1e-7, 0.1, 1e-12, 0]
    const %b : f32[5] = [0.5, 5, -0.25, -3, 0.3]
    const %v : f32[2,5,1,1] = random 2
    %s = Mul(%w, %small)
    %c = Conv(%x, %s, %b) @conv
    %r = Relu(%c)
    %y = Conv(%r, %v) @next
    output %y
  })");
  Canonicalize(graph);
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  // 8 bits would overflow in ONNX Runtime on CPUs without VNNI.
  for (const auto& [layer, precision] : plan.layers) plan.weights[layer] = {.bits = 7};
  Graph applied = graph;
  ApplyQuantizePlan(plan, applied);
  testing::ExpectSameNumbers(graph, applied, 0.1);
  testing::ExpectSound(FuseOps, applied, 0.02);  // our own integers
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const std::vector<Tensor> inputs = RandomInputs(graph, 1);
  const Tensor wanted = Interpret(applied, inputs)[0];
  const Tensor found = OrtSession(ExportOnnxBytes(applied), 1).Run(inputs)[0];
  EXPECT_LT(Difference(wanted, found), 0.02);
}

TEST(ApplyQuantizePlan, RaisesOneScaleOfAWholeLayerForAllItsChannels) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[2,1,1,1] = [1e-9, 2e-9]
    const %b : f32[2] = [5, 1]
    %y = Conv(%x, %w, %b) @conv
    output %y
  })");
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {{"conv", {.bits = 8, .scales = {0x1p-30, 0x1p-30}}}}},
                    graph);
  const Node& conv = graph.node(graph.FindNode("conv"));
  const auto scales =
      graph.constant(graph.node(graph.producer(conv.inputs[1])).inputs[1])->Values<float>();
  EXPECT_EQ(scales[0], scales[1]);
  EXPECT_GT(scales[0], 5.0F / 0.25F / (1 << 30));
}

TEST(ApplyQuantizePlan, ChangesNothingWithoutNarrowLayers) {
  Graph graph = Parse(kNet);
  const Graph before = graph;
  ApplyQuantizePlan(PlanFor({{"conv1", Precision::kF32}}), graph);
  EXPECT_TRUE(SameGraph(before, graph));
}

/// Returns the graph with all layers int8 and its FuseOps.
std::pair<Graph, Graph> AppliedAndFused(const std::string& text) {
  Graph graph = Parse(text);
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  ApplyQuantizePlan(plan, graph);
  Verify(graph);
  testing::ExpectSound(FuseOps, graph, 0.02);
  Graph fused = graph;
  FuseOps(fused);
  return {graph, fused};
}

TEST(ApplyQuantizePlan, RoundsOnceWhereAConstantIsAddedToALayersOutput) {
  const auto [applied, fused] = AppliedAndFused(R"(graph main {
  input %x : f32[1,4,5,5]
  const %w : f32[4,4,1,1] = random 1
  const %shift : f32[] = [0.5]
  %c = Conv(%x, %w) @first
  %h = HardSwish(%c)
  %s = Add(%h, %shift) @sum
  %y = Conv(%s, %w) @last
  output %y
})");
  const auto reader = OnlyReader(applied, applied.FindValue("h"));
  ASSERT_TRUE(reader);
  EXPECT_EQ(applied.node(reader->node).name, "sum");
  EXPECT_NE(applied.FindValue("s_quantized"), kNoValue);
  EXPECT_EQ(applied.FindValue("h_quantized"), kNoValue);
}

TEST(ApplyQuantizePlan, PassesIntegersThroughSplit) {
  const auto [applied, fused] = AppliedAndFused(R"(graph main {
  input %x : f32[1,4,5,5]
  const %w : f32[4,4,1,1] = random 1
  const %v : f32[2,2,1,1] = random 2
  %c = Conv(%x, %w) @first
  %a, %b = Split(%c) {axis = 1}
  %d = Conv(%b, %v) @branch
  %k = Concat(%a, %d) {axis = 1}
  %y = Conv(%k, %w) @last
  output %y
})");
  for (const char* value : {"c_quantized", "d_quantized"}) {
    EXPECT_NE(applied.FindValue(value), kNoValue) << value;
  }
  // Between the first and the last layer all values are integers.
  for (const NodeId id : fused.order()) {
    if (fused.node(id).name == "last") continue;
    for (const ValueId output : fused.node(id).outputs) {
      EXPECT_EQ(fused.type(output).dtype, DType::kI8) << fused.value(output).name;
    }
  }
}

TEST(ApplyQuantizePlan, StoresAResidualThatIsMadeBehindTheLayerThatAddsIt) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[1,4,6,6]
    const %w : f32[4,4,1,1] = random 1
    %a = Conv(%x, %w) @shortcut
    %b = Conv(%x, %w) @main
    %p = MaxPool(%b) @pool {kernel_shape = [1, 1]}
    %s = Add(%a, %p)
    %y = Conv(%s, %w) @last
    output %y
  })");
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  ApplyQuantizePlan(plan, graph);
  FuseOps(graph);
  EXPECT_EQ(graph.type(graph.node(graph.FindNode("pool")).outputs[0]).dtype, DType::kI8);
  EXPECT_EQ(graph.type(graph.node(graph.FindNode("shortcut")).inputs[kFusedResidual]).dtype,
            DType::kI8);
}

TEST(ApplyQuantizePlan, QuantizesWeightsAloneWhereALayerStaysF32) {
  Graph graph = Parse(kNet);
  QuantizePlan plan = PlanFor({{"conv2", Precision::kF32}});
  plan.weights["conv2"] = {.bits = 4, .scales = {0.5, 0.25, 0.5, 1}};
  ApplyQuantizePlan(plan, graph);
  const std::string skeleton = Skeleton(graph);
  EXPECT_NE(skeleton.find(R"(
w2_dequantized:f32 = DequantizeLinear(w2_quantized:i8, w2_scale:f32, w2_zero_point:i8) @w2_dequantized
c2:f32 = Conv(r1:f32, w2_dequantized:f32) @conv2
)"),
            std::string::npos)
      << skeleton;
  EXPECT_EQ(skeleton.find("QuantizeLinear(r1"), std::string::npos) << skeleton;
  for (const std::int8_t level :
       graph.constant(graph.FindValue("w2_quantized"))->Values<std::int8_t>()) {
    EXPECT_LE(std::abs(level), 7);
  }
  testing::ExpectSound(FuseOps, graph, 1e-5);
  FuseOps(graph);
  // Kernels get the weights in f32: nothing is widened while the model runs.
  EXPECT_EQ(Skeleton(graph).find("DequantizeLinear"), std::string::npos) << Skeleton(graph);
}

/// A convolution with two channels of four weights, the largest of each far above the others.
constexpr const char* kTwoRowsOfWeights = R"(graph main {
    input %x : f32[1,1,1,1]
    const %w : f32[2,1,1,4] = [1, -2, 0.25, 9, 3, 0.1, -0.6, 40]
    %y = Conv(%x, %w) @conv {pads = [0, 3, 0, 0]}
    output %y
  })";

TEST(ApplyQuantizePlan, TakesTheGridOfThePlan) {
  Graph graph = Parse(kTwoRowsOfWeights);
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {{"conv", {.bits = 3, .scales = {0.5, 2}}}}},
                    graph);
  const auto levels = graph.constant(graph.FindValue("w_quantized"))->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(levels.begin(), levels.end()),
            (std::vector<int>{2, -3, 0, 3, 2, 0, 0, 3}));
}

TEST(ApplyQuantizePlan, TakesTheLargestWeightsWhereAGridHasNoScales) {
  Graph graph = Parse(kTwoRowsOfWeights);
  ApplyQuantizePlan({.layers = {{"conv", Precision::kInt8}},
                     .activations = {{"x", {"i8", 0.25, 0}}},
                     .weights = {{"conv", {.bits = 3, .scales = {}}}}},
                    graph);
  const auto levels = graph.constant(graph.FindValue("w_quantized"))->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(levels.begin(), levels.end()),
            (std::vector<int>{0, -1, 0, 3, 0, 0, 0, 3}));
  const auto scales = graph.constant(graph.FindValue("w_scale"))->Values<float>();
  EXPECT_EQ(std::vector<float>(scales.begin(), scales.end()),
            (std::vector<float>{3.0F, 40.0F / 3}));
}

TEST(ApplyQuantizePlan, GivesWeightsTheZeroPointsOfTheirGrid) {
  Graph graph = Parse(kTwoRowsOfWeights);
  ApplyQuantizePlan({.layers = {{"conv", Precision::kF32}},
                     .activations = {},
                     .weights = {{"conv", {.bits = 4, .scales = {1, 4}, .zero_points = {-6, -8}}}}},
                    graph);
  const auto levels = graph.constant(graph.FindValue("w_quantized"))->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(levels.begin(), levels.end()),
            (std::vector<int>{-5, -8, -6, 3, -7, -8, -8, 2}));
  const auto zeros = graph.constant(graph.FindValue("w_zero_point"))->Values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(zeros.begin(), zeros.end()), (std::vector<int>{-6, -8}));
  testing::ExpectSound(FuseOps, graph, 1e-5);
}

TEST(ApplyQuantizePlan, CutsActivationsOfFewBits) {
  Graph graph = Parse(kNet);
  QuantizePlan plan = PlanFor({{"conv2", Precision::kInt8}});
  plan.activations.at("r1") = {.dtype = "u8", .scale = 0.25, .zero_point = 0, .bits = 4};
  ApplyQuantizePlan(plan, graph);
  const std::string skeleton = Skeleton(graph);
  EXPECT_NE(skeleton.find("r1_cut:f32 = Clip(r1:f32, r1_least:f32, r1_most:f32) @r1_cut"),
            std::string::npos)
      << skeleton;
  EXPECT_NE(skeleton.find("QuantizeLinear(r1_cut:f32"), std::string::npos) << skeleton;
  EXPECT_EQ(graph.constant(graph.FindValue("r1_least"))->Values<float>()[0], 0.0F);
  EXPECT_EQ(graph.constant(graph.FindValue("r1_most"))->Values<float>()[0], 15 * 0.25F);
  testing::ExpectSound(FuseOps, graph, 1e-4);
  plan.activations.at("r1") = {.dtype = "i8", .scale = 0.25, .zero_point = 1, .bits = 3};
  graph = Parse(kNet);
  ApplyQuantizePlan(plan, graph);
  EXPECT_EQ(graph.constant(graph.FindValue("r1_least"))->Values<float>()[0], -5 * 0.25F);
  EXPECT_EQ(graph.constant(graph.FindValue("r1_most"))->Values<float>()[0], 2 * 0.25F);
  plan.activations.at("r1").zero_point = 4;
  graph = Parse(kNet);
  EXPECT_EQ(UserErrorOf([&] { ApplyQuantizePlan(plan, graph); }),
            "quantize plan: the zero point of tensor 'r1' must be between -4 and 3, not 4");
  plan.activations.at("r1").bits = 9;
  EXPECT_EQ(UserErrorOf([&] { ApplyQuantizePlan(plan, graph); }),
            "quantize plan: tensor 'r1' must have 2 to 8 bits");
}

struct BadGrid {
  std::string layer;
  WeightGrid grid;
  std::string message;
};

TEST(ApplyQuantizePlan, RefusesGridsThatDoNotFit) {
  const std::vector<BadGrid> rows = {
      {"conv9", {}, "the graph has no layer 'conv9' whose weights have a grid"},
      {"fc", {}, "layer 'fc' is bf16, so its weights cannot have a grid"},
      {"conv2",
       {.bits = 4, .scales = {1}},
       "the weight grid of layer 'conv2' has 1 scales for 4 output channels"},
      {"conv2",
       {.bits = 9, .scales = {1, 1, 1, 1}},
       "the weight grid of layer 'conv2' must have 2 to 8 bits"},
      {"conv2",
       {.bits = 4, .scales = {1, 1, 1, 1}, .zero_points = {1}},
       "the weight grid of layer 'conv2' has 1 zero points for 4 scales"},
      {"conv2",
       {.bits = 4, .scales = {1, 1, 1, 1}, .zero_points = {8, 8, 8, 8}},
       "the weight grid of layer 'conv2' must have zero points between -8 and 7"},
      {"conv2",
       {.bits = 4, .scales = {1, 1, 1, 1}, .zero_points = {1, 1, 1, 2}},
       "layer 'conv2' is int8, whose weights have one zero point, not several"},
      {"conv2",
       {.bits = 4, .scales = {1, 1, 0.1, 1}},
       "the weight grid of layer 'conv2' must have scales that are positive normal 32-bit floats"}};
  for (const BadGrid& row : rows) {
    QuantizePlan plan = PlanFor({{"conv2", Precision::kInt8}, {"fc", Precision::kBF16}});
    plan.weights[row.layer] = row.grid;
    Graph graph = Parse(kNet);
    EXPECT_EQ(UserErrorOf([&] { ApplyQuantizePlan(plan, graph); }),
              "quantize plan: " + row.message);
    EXPECT_TRUE(SameGraph(graph, Parse(kNet))) << row.message;
  }
}

struct BadPlan {
  std::string label;
  PrecisionByLayer layers;
  std::map<std::string, TensorScale> changed;  ///< scales that replace those of PlanFor
  std::string without;                         ///< scale that is taken away
  std::string message;
};

void PrintTo(const BadPlan& test, std::ostream* out) {
  *out << test.label;
}

class RefusedPlan : public ::testing::TestWithParam<BadPlan> {};

TEST_P(RefusedPlan, SaysWhatToChange) {
  QuantizePlan plan = PlanFor(GetParam().layers);
  for (const auto& [name, scale] : GetParam().changed) plan.activations[name] = scale;
  plan.activations.erase(GetParam().without);
  Graph graph = Parse(kNet);
  EXPECT_EQ(UserErrorOf([&] { ApplyQuantizePlan(plan, graph); }), GetParam().message);
  EXPECT_TRUE(SameGraph(graph, Parse(kNet)));
}

const std::vector<BadPlan> kBadPlans = {
    {"a layer that is not there",
     {{"conv9", Precision::kInt8}},
     {},
     "",
     "quantize plan: the graph has no layer 'conv9' whose precision can be chosen"},
    {"a node that is no layer",
     {{"relu1", Precision::kInt8}},
     {},
     "",
     "quantize plan: the graph has no layer 'relu1' whose precision can be chosen"},
    {"no scale for an input",
     {{"conv1", Precision::kInt8}},
     {},
     "x",
     "quantize plan: tensor 'x' has no scale, but an int8 layer reads or writes it"},
    {"no scale for an output",
     {{"conv1", Precision::kInt8}, {"conv2", Precision::kInt8}},
     {},
     "r1",
     "quantize plan: tensor 'r1' has no scale, but an int8 layer reads or writes it"},
    {"a tensor that is not there",
     {},
     {{"t", {"i8", 1.0, 0}}},
     "",
     "quantize plan: the graph has no tensor 't'"},
    {"a scale of zero",
     {},
     {{"x", {"i8", 0.0, 0}}},
     "",
     "quantize plan: the scale of tensor 'x' must be a positive normal 32-bit float"},
    {"a scale that is no float",
     {},
     {{"x", {"i8", 0.1, 0}}},
     "",
     "quantize plan: the scale of tensor 'x' must be a positive normal 32-bit float"},
    {"a type that is not 8 bits",
     {},
     {{"x", {"i16", 1.0, 0}}},
     "",
     "quantize plan: the type of tensor 'x' must be i8 or u8, not 'i16'"},
    {"a zero point outside of the type",
     {},
     {{"x", {"u8", 1.0, -1}}},
     "",
     "quantize plan: the zero point of tensor 'x' must be between 0 and 255, not -1"},
};

INSTANTIATE_TEST_SUITE_P(Cases, RefusedPlan, ::testing::ValuesIn(kBadPlans));

// --- random networks ---

/// Layers, activations, Adds, pools and extra outputs in random order; all values of one shape.
Graph RandomNet(std::uint64_t seed) {
  Rng rng(seed);
  std::string text = "graph main {\n input %v0 : f32[2,4,6,6]\n const %s : f32[4,1,1] = random 7\n";
  const std::uint64_t steps = 4 + rng.Below(12);
  std::string outputs;
  for (std::uint64_t i = 1; i <= steps; ++i) {
    const std::string n = std::to_string(i);
    const auto any = [&] {
      // Mostly the newest value, so that chains appear.
      return "%v" + std::to_string(rng.Below(3) > 0 ? i - 1 : rng.Below(i));
    };
    const std::string w = " const %w" + n + " : f32[4,";
    const std::string made = " %v" + n + " = ";
    switch (rng.Below(10)) {
      case 0:
      case 1:
        text += w + "4,3,3] = random " + n + "\n" + made + "Conv(" + any() + ", %w" + n + ") @c" +
                n + " {pads = [1, 1, 1, 1]}\n";
        break;
      case 2:
        text += w + "1,1,1] = random " + n + "\n" + made + "Conv(" + any() + ", %w" + n + ") @c" +
                n + " {group = 4}\n";
        break;
      case 3:
      case 4:
        text += made + "Add(" + any() + ", " + any() + ")\n";
        break;
      case 5:
        text += made + "PRelu(" + any() + ", %s)\n";
        break;
      case 6: {
        const std::string x = any();
        text += " %g" + n + " = Sigmoid(" + x + ")\n" + made + "Mul(" + x + ", %g" + n + ")\n";
        break;
      }
      case 7:
        text += made + "MaxPool(" + any() + ") {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n";
        break;
      case 8:
        text += made + "AveragePool(" + any() + ") {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n";
        break;
      default:
        text += made + "Relu(" + any() + ")\n";
    }
    if (i == steps || rng.Below(8) == 0) outputs += " output %v" + n + "\n";
  }
  return Parse(text + outputs + "}");
}

TEST(RandomNetworks, KeepTheirNumbersWhateverThePlan) {
  for (std::uint64_t seed = 0; seed < Seeds(150); ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomNet(seed);
    RemoveDeadCode(graph);
    testing::ExpectSound(FuseOps, graph, 1e-4);
    QuantizePlan plan;
    Rng rng(seed);
    for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
      plan.layers[layer.name] = static_cast<Precision>(rng.Below(3));
    }
    plan.activations = Calibrate(graph, {.method = "minmax", .percentile = 100});
    Graph applied = graph;
    ApplyQuantizePlan(plan, applied);
    ASSERT_NO_THROW(Verify(applied));
    Graph inferred = applied;
    InferTypes(inferred);
    EXPECT_EQ(Print(inferred), Print(applied));
    // A sum that lies between two integers may fall to either side, and that error travels on.
    testing::ExpectSound(FuseOps, applied, 0.05);
    if (::testing::Test::HasFailure()) return;
  }
}

// --- the model that is shipped ---

class ShippedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "40 s under a sanitizer, for code that random networks reach";
  }
  static Graph Canonical() {
    Graph graph = ImportOnnx("experiments/models/fashion_resnet.onnx");
    Canonicalize(graph);
    return graph;
  }
};

TEST_F(ShippedModel, KeepsItsNumbersThroughCanonicalizeAndFuseOps) {
  const Graph imported = ImportOnnx("experiments/models/fashion_resnet.onnx");
  const Graph canonical = Canonical();
  EXPECT_EQ(CountContents(canonical).nodes,
            (std::map<std::string, std::int64_t>{{"Add", 4},
                                                 {"Conv", 13},
                                                 {"Flatten", 1},
                                                 {"Gemm", 1},
                                                 {"GlobalAveragePool", 1},
                                                 {"Relu", 11}}));
  testing::ExpectSameNumbers(imported, canonical, 1e-4);
  Graph fused = canonical;
  FuseOps(fused);
  EXPECT_EQ(CountContents(fused).nodes,
            (std::map<std::string, std::int64_t>{
                {"Flatten", 1}, {"GlobalAveragePool", 1}, {"msc.Conv", 13}, {"msc.Gemm", 1}}));
  testing::ExpectSameNumbers(canonical, fused, 1e-4);
}

TEST_F(ShippedModel, RunsOnIntegersFromEndToEndOnceQuantized) {
  const Graph canonical = Canonical();
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(canonical);
  EXPECT_EQ(layers.size(), 14U);
  QuantizePlan plan = Everything(canonical, Precision::kInt8);
  plan.activations = Calibrate(canonical);
  Graph applied = canonical;
  ApplyQuantizePlan(plan, applied);
  Graph fused = applied;
  FuseOps(fused);
  EXPECT_EQ(CountContents(fused).nodes, (std::map<std::string, std::int64_t>{{"Flatten", 1},
                                                                             {"QuantizeLinear", 1},
                                                                             {"msc.Conv", 13},
                                                                             {"msc.Gemm", 1},
                                                                             {"msc.Pool", 1}}));
  for (const NodeId id : fused.order()) {
    if (!fused.node(id).Is("Conv", "msc")) continue;
    for (const std::size_t input : {kFusedX, kFusedW}) {
      EXPECT_NE(fused.type(fused.node(id).inputs[input]).dtype, DType::kF32);
    }
    EXPECT_NE(fused.type(fused.node(id).outputs[0]).dtype, DType::kF32);
  }
  testing::ExpectSameNumbers(canonical, applied, 0.2);
  testing::ExpectSameNumbers(applied, fused, 0.02);
}

}  // namespace
}  // namespace msc
