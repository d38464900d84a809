// QLinearConv and QLinearMatMul as the layers between DequantizeLinear and QuantizeLinear.

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::ExpectSound;
using testing::Parse;
using testing::Skeleton;

// Constants that the graphs below read.
constexpr const char* kParams = R"(
  const %xs : f32[] = [0.02]
  const %xz : u8[] = [7]
  const %ws : f32[4] = [0.003, 0.004, 0.001, 0.002]
  const %wz : i8[] = [0]
  const %ys : f32[] = [0.5]
  const %yz : u8[] = [100]
)";

std::string Conv(const std::string& weights, const std::string& zero, const std::string& bias) {
  return "graph g {\n  input %x : u8[2,3,7,5]\n" + std::string(kParams) + weights + bias +
         "  %y = QLinearConv(%x, %xs, %xz, %w, %ws, " + zero + ", %ys, %yz" +
         (bias.empty() ? "" : ", %b") +
         ") @conv {pads = [1, 1, 0, 1], strides = [2, 1]}\n  output %y\n}";
}

const std::string kWeights = "  const %w : i8[4,3,3,3] = random 3\n";
const std::string kBias = "  const %b : i32[4] = [5000, -3000, 17, 0]\n";

// Sums in f32 put a value on an edge on its other side.
constexpr double kOneStep = 1.0;

TEST(LiftIntegerLayers, WritesAConvolutionBetweenWideningAndNarrowing) {
  const Graph before = Parse(Conv(kWeights, "%wz", kBias));
  Graph after = before;
  EXPECT_TRUE(LiftIntegerLayers(after));
  EXPECT_EQ(Skeleton(after),
            "x_dequantized:f32 = DequantizeLinear(x:u8, x_scale:f32, x_zero_point:u8) "
            "@x_dequantized\n"
            "w_dequantized:f32 = DequantizeLinear(w:i8, w_scale:f32, w_zero_point:i8) "
            "@w_dequantized\n"
            "b_dequantized:f32 = DequantizeLinear(b:i32, b_scale:f32) @b_dequantized\n"
            "conv:f32 = Conv(x_dequantized:f32, w_dequantized:f32, b_dequantized:f32) @conv\n"
            "y:u8 = QuantizeLinear(conv:f32, ys:f32, yz:u8) @conv_quantize\n");
  const auto scales = after.constant(after.FindValue("b_scale"))->Values<float>();
  ASSERT_EQ(scales.size(), 4U);
  EXPECT_EQ(scales[1], 0.02F * 0.004F);
  EXPECT_EQ(AttrOr<std::vector<std::int64_t>>(after.node(after.FindNode("conv")), "strides", {}),
            (std::vector<std::int64_t>{2, 1}));
  ExpectSound(LiftIntegerLayers, before, kOneStep);
}

TEST(LiftIntegerLayers, LowersUnsignedWeightsWithTheirZeroPoints) {
  const std::string weights =
      "  const %w : u8[4,3,3,3] = random 3\n  const %z : u8[4] = [128, 120, 128, 200]\n";
  const Graph before = Parse(Conv(weights, "%z", ""));
  Graph after = before;
  EXPECT_TRUE(LiftIntegerLayers(after));
  const auto zeros = after.constant(after.FindValue("w_i8_zero_point"))->Values<std::int8_t>();
  EXPECT_EQ(std::vector<std::int8_t>(zeros.begin(), zeros.end()),
            (std::vector<std::int8_t>{0, -8, 0, 72}));
  ExpectSound(LiftIntegerLayers, before, kOneStep);
}

TEST(LiftIntegerLayers, TakesProductsByColumnsAndOfTwoValues) {
  const Graph by_columns = Parse("graph g {\n  input %x : u8[2,3,5]\n" + std::string(kParams) +
                                 "  const %w : i8[5,4] = random 3\n"
                                 "  %y = QLinearMatMul(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz) @fc\n"
                                 "  output %y\n}");
  const Graph of_values =
      Parse("graph g {\n  input %x : u8[2,3,5]\n  input %w : u8[2,5,4]\n" + std::string(kParams) +
            "  %y = QLinearMatMul(%x, %xs, %xz, %w, %xs, %xz, %ys, %yz) @fc\n"
            "  output %y\n}");
  for (const Graph& before : {by_columns, of_values}) {
    Graph after = before;
    EXPECT_TRUE(LiftIntegerLayers(after));
    EXPECT_TRUE(after.node(after.FindNode("fc")).Is("MatMul"));
    ExpectSound(LiftIntegerLayers, before, kOneStep);
  }
}

TEST(LiftIntegerLayers, LeavesWhatIsNotConstant) {
  const std::string computed =
      "graph g {\n  input %x : u8[2,3,7,5]\n  input %w : i8[4,3,3,3]\n" + std::string(kParams) +
      "  %y = QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz)\n  output %y\n}";
  const std::string scale =
      "graph g {\n  input %x : u8[2,5]\n  input %s : f32[]\n" + std::string(kParams) +
      "  const %w : i8[5,4] = random 3\n"
      "  %y = QLinearMatMul(%x, %s, %xz, %w, %ws, %wz, %ys, %yz)\n  output %y\n}";
  for (const std::string& text : {computed, scale}) {
    Graph graph = Parse(text);
    EXPECT_FALSE(LiftIntegerLayers(graph));
  }
}

}  // namespace
}  // namespace msc
