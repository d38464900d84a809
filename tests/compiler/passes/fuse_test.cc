#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ops/fused.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::ExpectSound;
using testing::Parse;
using testing::Skeleton;

struct Case {
  std::string label;
  std::string before;
  std::string after;        ///< Skeleton; "same" where nothing may change
  double tolerance = 1e-5;  ///< relative for f32 outputs, in quanta for integers
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.label;
}

class FuseOpsCase : public ::testing::TestWithParam<Case> {};

TEST_P(FuseOpsCase, MakesTheListedGraphWithTheSameNumbers) {
  const Graph before = Parse("graph main {\n" + GetParam().before + "\n}");
  Graph after = before;
  const bool changed = FuseOps(after);
  const bool same = GetParam().after == "same";
  EXPECT_EQ(changed, !same);
  EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : GetParam().after);
  ExpectSound(FuseOps, before, GetParam().tolerance);
}

const std::vector<Case> kFloatCases = {
    {"a convolution alone, auto_pad resolved", R"(
       input %x : f32[n,3,5,5]
       const %w : f32[4,3,3,3] = random 1
       %y = Conv(%x, %w) @conv {auto_pad = "SAME_UPPER", strides = [2, 2]}
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32) @conv\n"},
    {"a convolution of one spatial axis", R"(
       input %x : f32[n,3,9]
       const %w : f32[4,3,3] = random 1
       const %b : f32[4] = random 2
       %y = Conv(%x, %w, %b) @conv
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32, b:f32) @conv\n"},
    {"bias, residual and activation, as in a residual block", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,3,3] = random 1
       const %b : f32[4] = random 2
       %c = Conv(%x, %w, %b) @conv {pads = [1, 1, 1, 1]}
       %a = Add(%c, %x) @add
       %y = Relu(%a) @relu
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32, b:f32, x:f32) @conv\n"},
    {"the later of two layers takes the Add", R"(
       input %x : f32[n,4,5,5]
       const %v : f32[4,4,1,1] = random 1
       const %w : f32[4,4,1,1] = random 2
       %c = Conv(%x, %v) @first
       %d = Conv(%x, %w) @second
       %a = Add(%c, %d)
       %y = Relu(%a)
       output %y)",
     "c:f32 = msc.Conv(x:f32, v:f32) @first\n"
     "y:f32 = msc.Conv(x:f32, w:f32, _, c:f32) @second\n"},
    {"no residual where shapes broadcast", R"(
       input %x : f32[n,4,5,5]
       input %r : f32[n,4,1,1]
       const %w : f32[4,4,1,1] = random 1
       %c = Conv(%x, %w) @conv
       %y = Add(%c, %r) @add
       output %y)",
     "c:f32 = msc.Conv(x:f32, w:f32) @conv\ny:f32 = Add(c:f32, r:f32) @add\n"},
    {"nothing past a value that is read twice", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       %c = Conv(%x, %w) @conv
       %r = Relu(%c) @relu
       %y = Add(%c, %r) @add
       output %y)",
     "c:f32 = msc.Conv(x:f32, w:f32) @conv\nr:f32 = Relu(c:f32) @relu\n"
     "y:f32 = Add(c:f32, r:f32) @add\n"},
    {"nothing past a graph output", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       %c = Conv(%x, %w) @conv
       %y = Relu(%c) @relu
       output %c
       output %y)",
     "c:f32 = msc.Conv(x:f32, w:f32) @conv\ny:f32 = Relu(c:f32) @relu\n"},
    {"Swish written as a product", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,1,3,3] = random 1
       %c = Conv(%x, %w) @conv {group = 4}
       %s = Sigmoid(%c)
       %y = Mul(%c, %s)
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32) @conv\n"},
    {"HardSwish written as a product", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       %c = Conv(%x, %w) @conv
       %s = HardSigmoid(%c) {alpha = 0.16666667, beta = 0.5}
       %y = Mul(%s, %c)
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32) @conv\n"},
    {"PRelu with a slope a channel", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       const %s : f32[4,1,1] = random 2
       %c = Conv(%x, %w) @conv
       %y = PRelu(%c, %s)
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32, _, _, _, conv_slope:f32) @conv\n"},
    {"not PRelu with a slope a column", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       const %s : f32[5] = random 2
       %c = Conv(%x, %w) @conv
       %y = PRelu(%c, %s) @act
       output %y)",
     "c:f32 = msc.Conv(x:f32, w:f32) @conv\ny:f32 = PRelu(c:f32, s:f32) @act\n"},
    {"Clip with constant bounds", R"(
       input %x : f32[n,4,5,5]
       const %w : f32[4,4,1,1] = random 1
       const %low : f32[] = [0]
       const %high : f32[] = [6]
       %c = Conv(%x, %w) @conv
       %y = Clip(%c, %low, %high)
       output %y)",
     "y:f32 = msc.Conv(x:f32, w:f32) @conv\n"},
    {"not Clip with a bound that is computed", R"(
       input %x : f32[n,4,5,5]
       input %low : f32[]
       const %w : f32[4,4,1,1] = random 1
       %c = Conv(%x, %w) @conv
       %y = Clip(%c, %low) @clip
       output %y)",
     "c:f32 = msc.Conv(x:f32, w:f32) @conv\ny:f32 = Clip(c:f32, low:f32) @clip\n"},
    {"Gemm with factors and a scalar bias", R"(
       input %x : f32[n,6]
       const %w : f32[6,4] = random 1
       const %b : f32[1] = [3]
       %c = Gemm(%x, %w, %b) @fc {alpha = 0.5, beta = 2.0}
       %y = LeakyRelu(%c) {alpha = 0.1}
       output %y)",
     "y:f32 = msc.Gemm(x:f32, w_packed:f32, b_f32:f32) @fc\n"},
    {"Gemm of transposed weights as it is", R"(
       input %x : f32[n,6]
       const %w : f32[4,6] = random 1
       const %b : f32[4] = random 2
       %y = Gemm(%x, %w, %b) @fc {transB = 1}
       output %y)",
     "y:f32 = msc.Gemm(x:f32, w:f32, b:f32) @fc\n"},
    {"MatMul and a constant bias", R"(
       input %x : f32[n,6]
       const %w : f32[6,4] = random 1
       const %b : f32[4] = random 2
       %c = MatMul(%x, %w) @fc
       %d = Add(%b, %c)
       %y = Tanh(%d)
       output %y)",
     "y:f32 = msc.Gemm(x:f32, w_packed:f32, b:f32) @fc\n"},
    {"a MatMul of more than matrices, with bias, residual and activation", R"(
       input %x : f32[2,3,6]
       input %r : f32[2,3,4]
       const %w : f32[6,4] = random 1
       const %b : f32[4] = random 2
       %p = MatMul(%x, %w) @fc
       %c = Add(%b, %p)
       %a = Add(%r, %c)
       %y = Relu(%a)
       output %y)",
     "y:f32 = msc.Gemm(x:f32, w_packed:f32, b:f32, r:f32) @fc\n"},
    {"not a MatMul by matrices that vary", R"(
       input %x : f32[2,3,6]
       const %w : f32[2,6,4] = random 1
       %y = MatMul(%x, %w)
       output %y)",
     "same"},
    {"not a convolution of weights that are computed", R"(
       input %x : f32[n,4,5,5]
       input %w : f32[4,4,1,1]
       %y = Conv(%x, %w)
       output %y)",
     "same"},
    {"not float pools, Adds and activations on their own", R"(
       input %x : f32[n,4,6,6]
       %a = MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]}
       %b = Sigmoid(%a)
       %c = Add(%a, %b)
       %y = GlobalAveragePool(%c)
       output %y)",
     "same"},
};

INSTANTIATE_TEST_SUITE_P(Float, FuseOpsCase, ::testing::ValuesIn(kFloatCases));

constexpr const char* kParams = R"(
       const %sx : f32[] = [0.03]
       const %zx : u8[] = [100]
       const %sr : f32[] = [0.04]
       const %zr : i8[] = [0]
       const %sy : f32[] = [0.2]
       const %zy : u8[] = [120]
       const %sw : f32[4] = [0.01, 0.02, 0.005, 0.03]
       const %s1 : f32[] = [0.01]
       const %w : i8[4,4,1,1] = random 1
       const %w2 : i8[4,4] = random 2
       const %wf : f32[4,4,1,1] = random 3
       const %wh : bf16[4,4,1,1] = random 4
       const %sb : f32[4] = [0.001, 0.0001, 0.01, 0.1]
       const %bi : i32[4] = [100, -2000, 7, 1]
)";

const std::vector<Case>
    kNarrowCases =
        {
            {"a quantized convolution",
             R"(
       input %q : u8[n,4,5,5])" +
                 std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %wd = DequantizeLinear(%w, %sw) {axis = 0}
       %bd = DequantizeLinear(%bi, %sb) {axis = 0}
       %c = Conv(%x, %wd, %bd) @conv
       %r = Relu(%c)
       %y = QuantizeLinear(%r, %sy, %zy)
       output %y)",
             "y:u8 = msc.Conv(q:u8, w:i8, bi_f32:f32, _, w_scales:f32) @conv\n", 1},
            {"a quantized residual block with one scale for the weights", R"(
       input %q : u8[n,4,5,5]
       input %p : i8[n,4,5,5])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %rd = DequantizeLinear(%p, %sr, %zr)
       %wd = DequantizeLinear(%w, %s1)
       %c = Conv(%x, %wd) @conv
       %a = Add(%rd, %c)
       %r = Relu(%a)
       %y = QuantizeLinear(%r, %sy, %zy)
       output %y)",
             "y:u8 = msc.Conv(q:u8, w:i8, _, p:i8, w_scales:f32) @conv\n", 1},
            {"one integer value for several layers",
             R"(
       input %x0 : f32[n,4,5,5])" +
                 std::string(kParams) + R"(
       %q = QuantizeLinear(%x0, %sx, %zx)
       %x = DequantizeLinear(%q, %sx, %zx)
       %x2 = DequantizeLinear(%q, %sx, %zx)
       %w1 = DequantizeLinear(%w, %sw) {axis = 0}
       %c = Conv(%x, %w1) @a
       %d = Conv(%x2, %w1) @b
       %y = Add(%c, %d)
       output %y)",
             "q:u8 = QuantizeLinear(x0:f32, sx:f32, zx:u8) @QuantizeLinear\n"
             "c:f32 = msc.Conv(q:u8, w:i8, _, _, w_scales:f32) @a\n"
             "y:f32 = msc.Conv(q:u8, w:i8, _, c:f32, w_scales_1:f32) @b\n"},
            {"equal quantizations of one value are one", R"(
       input %x0 : f32[n,4,5,5])" + std::string(kParams) + R"(
       %q = QuantizeLinear(%x0, %sx, %zx) @q1
       %q2 = QuantizeLinear(%x0, %sx, %zx) @q2
       %x = DequantizeLinear(%q, %sx, %zx)
       %x2 = DequantizeLinear(%q2, %sx, %zx)
       %wd = DequantizeLinear(%w, %sw) {axis = 0}
       %c = Conv(%x, %wd) @a
       %y = Conv(%x2, %wd) @b
       output %c
       output %y)",
             "q:u8 = QuantizeLinear(x0:f32, sx:f32, zx:u8) @q1\n"
             "c:f32 = msc.Conv(q:u8, w:i8, _, _, w_scales:f32) @a\n"
             "y:f32 = msc.Conv(q:u8, w:i8, _, _, w_scales_1:f32) @b\n"},
            {"an integer value with a float reader keeps one DequantizeLinear", R"(
       input %q : u8[n,4,5,5])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %wd = DequantizeLinear(%w, %sw) {axis = 0}
       %c = Conv(%x, %wd) @a
       %i = QuantizeLinear(%c, %sy, %zy)
       %d = DequantizeLinear(%i, %sy, %zy) @wide
       %e = Conv(%d, %wd) @b
       %f = Sigmoid(%d)
       output %e
       output %f)",
             "i:u8 = msc.Conv(q:u8, w:i8, _, _, w_scales:f32) @a\n"
             "d:f32 = DequantizeLinear(i:u8, sy:f32, zy:u8) @wide\n"
             "e:f32 = msc.Conv(i:u8, w:i8, _, _, w_scales_1:f32) @b\n"
             "f:f32 = Sigmoid(d:f32) @Sigmoid\n",
             0.05},
            {"a value read in f32 before it is quantized stays f32", R"(
       input %q : u8[n,4,5,5])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %wd = DequantizeLinear(%w, %sw) {axis = 0}
       %c = Conv(%x, %wd) @a
       %i = QuantizeLinear(%c, %sy, %zy) @q
       %f = Sigmoid(%c)
       output %i
       output %f)",
             "c:f32 = msc.Conv(q:u8, w:i8, _, _, w_scales:f32) @a\n"
             "i:u8 = QuantizeLinear(c:f32, sy:f32, zy:u8) @q\n"
             "f:f32 = Sigmoid(c:f32) @Sigmoid\n",
             1},
            {"float weights keep the layer in f32", R"(
       input %q : u8[n,4,5,5])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx) @wide
       %c = Conv(%x, %wf) @conv
       %y = QuantizeLinear(%c, %sy, %zy) @q
       output %y)",
             "x:f32 = DequantizeLinear(q:u8, sx:f32, zx:u8) @wide\n"
             "c:f32 = msc.Conv(x:f32, wf:f32) @conv\n"
             "y:u8 = QuantizeLinear(c:f32, sy:f32, zy:u8) @q\n",
             1},
            {"integer weights of a float layer are widened once", R"(
       input %x : f32[n,4,5,5])" + std::string(kParams) + R"(
       %wd = DequantizeLinear(%w, %sw) {axis = 0}
       %y = Conv(%x, %wd) @conv
       output %y)",
             "y:f32 = msc.Conv(x:f32, w_packed:f32) @conv\n"},
            {"a quantized MatMul transposes its weights", R"(
       input %q : u8[n,4])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %wd = DequantizeLinear(%w2, %sw) {axis = 1}
       %y = MatMul(%x, %wd) @fc
       output %y)",
             "y:f32 = msc.Gemm(q:u8, w2_packed:i8, _, _, w2_scales:f32) @fc\n"},
            {"bf16 on all sides",
             R"(
       input %x0 : f32[n,4,5,5]
       input %r0 : f32[n,4,5,5])" +
                 std::string(kParams) + R"(
       %xh = Cast(%x0) @cx {to = 16}
       %rh = Cast(%r0) @cr {to = 16}
       %x = Cast(%xh) {to = 1}
       %r = Cast(%rh) {to = 1}
       %wd = Cast(%wh) {to = 1}
       %c = Conv(%x, %wd) @conv
       %a = Add(%c, %r)
       %l = Relu(%a)
       %yh = Cast(%l) {to = 16}
       %y = Cast(%yh) @out {to = 1}
       output %y)",
             "xh:bf16 = Cast(x0:f32) @cx\nrh:bf16 = Cast(r0:f32) @cr\n"
             "yh:bf16 = msc.Conv(xh:bf16, wh:bf16, _, rh:bf16) @conv\n"
             "y:f32 = Cast(yh:bf16) @out\n",
             0.01},
            {"MaxPool and shapes between equal parameters run on integers", R"(
       input %q : u8[n,4,4,4])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %p = MaxPool(%x) @pool {kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]}
       %t = Transpose(%p) @turn {perm = [0, 2, 3, 1]}
       %f = Flatten(%t) @flat
       %y = QuantizeLinear(%f, %sx, %zx)
       output %y)",
             "p_narrow:u8 = msc.Pool(q:u8) @pool\n"
             "t_narrow:u8 = Transpose(p_narrow:u8) @turn\n"
             "y:u8 = Flatten(t_narrow:u8) @flat\n",
             0},
            {"Concat of one scale runs on integers", R"(
       input %q : u8[n,4,4,4]
       input %p : u8[n,4,4,4])" + std::string(kParams) + R"(
       %a = DequantizeLinear(%q, %sx, %zx)
       %b = DequantizeLinear(%p, %sx, %zx)
       %c = Concat(%a, %b) @cat {axis = 1}
       %y = QuantizeLinear(%c, %sx, %zx)
       output %y)",
             "y:u8 = Concat(q:u8, p:u8) @cat\n", 0},
            {"Concat of two scales stays",
             R"(
       input %q : u8[n,4,4,4]
       input %p : i8[n,4,4,4])" +
                 std::string(kParams) + R"(
       %a = DequantizeLinear(%q, %sx, %zx)
       %b = DequantizeLinear(%p, %sr, %zr)
       %y = Concat(%a, %b) {axis = 1}
       output %y)",
             "a:f32 = DequantizeLinear(q:u8, sx:f32, zx:u8) @DequantizeLinear\n"
             "b:f32 = DequantizeLinear(p:i8, sr:f32, zr:i8) @DequantizeLinear_1\n"
             "y:f32 = Concat(a:f32, b:f32) @Concat\n"},
            {"an average pool with a quantization behind a Flatten", R"(
       input %q : u8[n,4,4,4])" + std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %p = GlobalAveragePool(%x) @pool
       %f = Flatten(%p) @flat
       %y = QuantizeLinear(%f, %sr, %zr)
       output %y)",
             "p_narrow:i8 = msc.Pool(q:u8) @pool\ny:i8 = Flatten(p_narrow:i8) @flat\n", 1},
            {"an average pool read in f32",
             R"(
       input %q : u8[n,4,4,4])" +
                 std::string(kParams) + R"(
       %x = DequantizeLinear(%q, %sx, %zx)
       %y = AveragePool(%x) @pool {kernel_shape = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1}
       output %y)",
             "y:f32 = msc.Pool(q:u8) @pool\n"},
            {"an Add that no layer takes",
             R"(
       input %q : u8[n,4,4,4]
       input %p : i8[n,4,4,4])" +
                 std::string(kParams) + R"(
       %a = DequantizeLinear(%q, %sx, %zx)
       %b = DequantizeLinear(%p, %sr, %zr)
       %c = Add(%a, %b) @add
       %r = Relu(%c)
       %y = QuantizeLinear(%r, %sy, %zy)
       output %y)",
             "y:u8 = msc.Binary(q:u8, p:i8) @add\n", 1},
            {"a Mul that broadcasts",
             R"(
       input %q : u8[n,4,4,4]
       input %p : i8[n,4,1,1])" +
                 std::string(kParams) + R"(
       %a = DequantizeLinear(%q, %sx, %zx)
       %b = DequantizeLinear(%p, %sr, %zr)
       %y = Mul(%a, %b) @mul
       output %y)",
             "y:f32 = msc.Binary(q:u8, p:i8) @mul\n"},
};

INSTANTIATE_TEST_SUITE_P(Narrow, FuseOpsCase, ::testing::ValuesIn(kNarrowCases));

TEST(FuseOps, WritesAllAttributesOfAConvolution) {
  Graph graph = Parse(R"(graph main {
    input %q : u8[2,2,8,8]
    const %sx : f32[] = [0.5]
    const %zx : u8[] = [3]
    const %sw : f32[2] = splat 0.25
    const %w : i8[2,1,1,3] = [1, 2, 3, -4, -5, 127]
    const %sy : f32[] = [2]
    const %zy : i8[] = [-4]
    %x = DequantizeLinear(%q, %sx, %zx)
    %wd = DequantizeLinear(%w, %sw) {axis = 0}
    %c = Conv(%x, %wd) @conv {auto_pad = "SAME_LOWER", strides = [2, 2], dilations = [1, 2], group = 2}
    %r = HardSigmoid(%c) {alpha = 0.25, beta = 0.75}
    %y = QuantizeLinear(%r, %sy, %zy)
    output %y
  })");
  FuseOps(graph);
  EXPECT_EQ(Print(graph), R"(graph main {
  input %q : u8[2,2,8,8]
  const %w : i8[2,1,1,3] = [1, 2, 3, -4, -5, 127]
  const %w_scales : f32[2] = [0.25, 0.25]
  %y = msc.Conv(%q, %w, _, _, %w_scales) @conv {activation = "HardSigmoid", alpha = 0.25, beta = 0.75, dilations = [1, 2], group = 2, kernel_shape = [1, 3], pads = [0, 2, 0, 1], strides = [2, 2], x_scale = 0.5, x_zero_point = 3, y_scale = 2.0, y_type = 3, y_zero_point = -4} : i8[2,2,4,4]
  output %y
}
)");
}

TEST(FuseOps, WritesTheWindowOfAPool) {
  Graph graph = Parse(R"(graph main {
    input %q : u8[2,2,8,8]
    const %sx : f32[] = [0.5]
    const %zx : u8[] = [3]
    %x = DequantizeLinear(%q, %sx, %zx)
    %y = AveragePool(%x) @pool {kernel_shape = [3, 3], count_include_pad = 1, pads = [1, 0, 1, 0]}
    output %y
  })");
  FuseOps(graph);
  EXPECT_EQ(Print(graph), R"(graph main {
  input %q : u8[2,2,8,8]
  %y = msc.Pool(%q) @pool {count_include_pad = 1, dilations = [1, 1], kernel_shape = [3, 3], op = "AveragePool", pads = [1, 0, 1, 0], strides = [1, 1], x_scale = 0.5, x_zero_point = 3, y_type = 1} : f32[2,2,8,6]
  output %y
}
)");
}

}  // namespace
}  // namespace msc
