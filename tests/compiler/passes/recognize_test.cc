// Functions that exporters write out, found again: as ONNX operators in the canonical form, as
// operators of domain "msc" for targets that take them.

#include <ostream>
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

struct Case {
  std::string label;
  bool (*pass)(Graph&);
  std::string before;
  std::string after;  ///< Skeleton; "same" where nothing may change
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.label;
}

class Recognize : public ::testing::TestWithParam<Case> {};

TEST_P(Recognize, MakesTheListedGraphWithTheSameNumbers) {
  const Graph before = Parse("graph main {\n" + GetParam().before + "\n}");
  Graph after = before;
  GetParam().pass(after);
  const bool same = GetParam().after == "same";
  EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : GetParam().after);
  ExpectSound(GetParam().pass, before);
}

const std::vector<Case> kCanonicalCases = {
    {"HardSwish, the ramp divided last", RecognizeActivations, R"(
       input %x : f32[2,3]
       const %three : f32[] = [3]
       const %zero : f32[] = [0]
       const %six : f32[] = [6]
       %a = Add(%x, %three)
       %c = Clip(%a, %zero, %six)
       %m = Mul(%x, %c)
       %y = Div(%m, %six) @swish
       output %y)",
     "y:f32 = HardSwish(x:f32) @swish\n"},
    {"HardSigmoid of any slope", RecognizeActivations, R"(
       input %x : f32[2,3]
       const %one : f32[] = [1]
       const %zero : f32[] = [0]
       const %five : f32[] = [5]
       const %fifth : f32[] = [0.2]
       %a = Add(%one, %x)
       %c = Clip(%a, %zero, %five)
       %y = Mul(%c, %fifth) @gate
       output %y)",
     "y:f32 = HardSigmoid(x:f32) @gate\n"},
    {"HardSwish by its gate", RecognizeActivations, R"(
       input %x : f32[2,3]
       %g = HardSigmoid(%x) {alpha = 0.16666667, beta = 0.5}
       %y = Mul(%g, %x) @swish
       output %y)",
     "y:f32 = HardSwish(x:f32) @swish\n"},
    {"no HardSwish of another value's gate", RecognizeActivations, R"(
       input %x : f32[2,3]
       input %z : f32[2,3]
       %g = HardSigmoid(%z) {alpha = 0.16666667, beta = 0.5}
       %y = Mul(%g, %x) @swish
       output %y)",
     "same"},
    {"no HardSigmoid of a ramp that is not divided by its top", RecognizeActivations, R"(
       input %x : f32[2,3]
       const %three : f32[] = [3]
       const %zero : f32[] = [0]
       const %six : f32[] = [6]
       %a = Add(%x, %three)
       %c = Clip(%a, %zero, %six)
       %y = Div(%c, %three)
       output %y)",
     "same"},

    {"LayerNormalization with scale and bias", RecognizeLayerNorm, R"(
       input %x : f32[n,5,6]
       const %two : f32[] = [2]
       const %eps : f32[] = [0.00001]
       const %g : f32[6] = random 1
       const %b : f32[6] = random 2
       %m = ReduceMean(%x) {axes = [-1]}
       %d = Sub(%x, %m)
       %p = Pow(%d, %two)
       %v = ReduceMean(%p) {axes = [-1]}
       %e = Add(%v, %eps)
       %s = Sqrt(%e)
       %q = Div(%d, %s) @norm
       %t = Mul(%q, %g)
       %y = Add(%t, %b)
       output %y)",
     "y:f32 = LayerNormalization(x:f32, g:f32, b:f32) @norm\n"},
    {"LayerNormalization over two axes, the square as a product, no scale", RecognizeLayerNorm, R"(
       input %x : f32[2,5,6]
       const %eps : f32[1] = [0.001]
       %m = ReduceMean(%x) {axes = [1, 2]}
       %d = Sub(%x, %m)
       %p = Mul(%d, %d)
       %v = ReduceMean(%p) {axes = [2, 1]}
       %e = Add(%eps, %v)
       %s = Sqrt(%e)
       %y = Div(%d, %s) @norm
       output %y)",
     "y:f32 = LayerNormalization(x:f32, x_ones:f32) @norm\n"},
    {"no LayerNormalization over leading axes", RecognizeLayerNorm, R"(
       input %x : f32[2,5,6]
       const %eps : f32[] = [0.001]
       %m = ReduceMean(%x) {axes = [1]}
       %d = Sub(%x, %m)
       %p = Mul(%d, %d)
       %v = ReduceMean(%p) {axes = [1]}
       %e = Add(%v, %eps)
       %s = Sqrt(%e)
       %y = Div(%d, %s)
       output %y)",
     "same"},

    {"a mean over space", RecognizeGlobalPools, R"(
       input %x : f32[n,3,4,5]
       %y = ReduceMean(%x) @mean {axes = [-1, 2]}
       output %y)",
     "y:f32 = GlobalAveragePool(x:f32) @mean\n"},
    {"a maximum over space that drops the axes", RecognizeGlobalPools, R"(
       input %x : f32[n,3,4,5]
       %y = ReduceMax(%x) @max {axes = [2, 3], keepdims = 0}
       output %y)",
     "y_pooled:f32 = GlobalMaxPool(x:f32) @max_pool\ny:f32 = Flatten(y_pooled:f32) @max\n"},
    {"a mean over channels stays", RecognizeGlobalPools, R"(
       input %x : f32[n,3,4,5]
       %y = ReduceMean(%x) {axes = [1, 2]}
       output %y)",
     "same"},

    {"a factor and a shift go into the next layer", FoldIntoNextLayer, R"(
       input %x : f32[2,4,5,5]
       const %s : f32[4,1,1] = random 1
       const %b : f32[] = [0.5]
       const %w : f32[6,2,3,3] = random 2
       %r = Relu(%x)
       %m = Mul(%s, %r)
       %a = Add(%m, %b)
       %y = Conv(%a, %w) @conv {group = 2}
       output %y)",
     "r:f32 = Relu(x:f32) @Relu\ny:f32 = Conv(r:f32, w:f32, conv_bias:f32) @conv\n"},
    {"of a padded layer only the factor does", FoldIntoNextLayer, R"(
       input %x : f32[2,4,5,5]
       const %s : f32[] = [2]
       const %b : f32[] = [0.5]
       const %w : f32[4,1,3,3] = random 2
       const %c : f32[4] = random 3
       %r = Relu(%x)
       %m = Mul(%r, %s) @mul
       %a = Add(%m, %b) @add
       %y = Conv(%a, %w, %c) @conv {group = 4, pads = [1, 1, 1, 1]}
       output %y)",
     "r:f32 = Relu(x:f32) @Relu\nm_moved:f32 = Add(r:f32, m_shift:f32) @add_first\n"
     "y:f32 = Conv(m_moved:f32, w:f32, c:f32) @conv\n"},
    {"not where somebody else reads the result, or channels are stretched", FoldIntoNextLayer, R"(
       input %x : f32[2,4,5,5]
       input %z : f32[2,1,5,5]
       const %s : f32[4,1,1] = random 1
       const %w : f32[4,4,1,1] = random 2
       %m = Mul(%x, %s)
       %y = Conv(%m, %w)
       %n = Mul(%z, %s)
       %u = Conv(%n, %w)
       output %y
       output %m
       output %u)",
     "same"},
    {"a Transpose of axes of one entry is a Reshape", RemoveIdentities, R"(
       input %x : f32[1,4,5]
       %y = Transpose(%x) @turn {perm = [1, 0, 2]}
       output %y)",
     "y:f32 = Reshape(x:f32, y_shape:i64) @turn\n"},
    {"steps that change nothing", RemoveIdentities, R"(
       input %x : f32[2,3]
       const %one : f32[] = [1]
       const %zero : f32[1] = [0]
       const %wide : f32[1,1,1] = [0]
       %a = Mul(%one, %x)
       %b = Sub(%a, %zero)
       %c = Div(%b, %one)
       %r = Relu(%c)
       %y = Add(%r, %wide)
       output %y)",
     "r:f32 = Relu(x:f32) @Relu\ny:f32 = Add(r:f32, wide:f32) @Add\n"},
};
INSTANTIATE_TEST_SUITE_P(Canonical, Recognize, ::testing::ValuesIn(kCanonicalCases));

const std::vector<Case> kFusedCases = {
    {"GELU by erf, a layer's activation", FuseOps, R"(
       input %x : f32[2,3,6]
       const %w : f32[6,4] = random 1
       const %root : f32[] = [1.4142135]
       const %one : f32[] = [1]
       const %half : f32[] = [0.5]
       %h = MatMul(%x, %w) @fc
       %d = Div(%h, %root)
       %e = Erf(%d)
       %a = Add(%e, %one)
       %m = Mul(%h, %a)
       %y = Mul(%m, %half)
       output %y)",
     "y:f32 = msc.Gemm(x:f32, w_packed:f32) @fc\n"},
    {"GELU by erf alone, the half taken first", FuseOps, R"(
       input %x : f32[2,3]
       const %root : f32[] = [0.70710677]
       const %one : f32[] = [1]
       const %half : f32[] = [0.5]
       %d = Mul(%x, %root) @first
       %e = Erf(%d)
       %a = Add(%one, %e)
       %h = Mul(%half, %x)
       %y = Mul(%h, %a)
       output %y)",
     "y:f32 = msc.Gelu(x:f32) @first\n"},
    {"GELU by tanh of a cube", FuseOps, R"(
       input %x : f32[2,3]
       const %three : f32[] = [3]
       const %cubic : f32[] = [0.044715]
       const %root : f32[] = [0.7978846]
       const %one : f32[] = [1]
       const %half : f32[] = [0.5]
       %p = Pow(%x, %three) @first
       %q = Mul(%p, %cubic)
       %s = Add(%x, %q)
       %u = Mul(%s, %root)
       %t = Tanh(%u)
       %a = Add(%t, %one)
       %m = Mul(%x, %a)
       %y = Mul(%m, %half)
       output %y)",
     "y:f32 = msc.Gelu(x:f32) @first\n"},
    {"GELU by tanh with x taken out", FuseOps, R"(
       input %x : f32[2,3]
       const %cubic : f32[] = [0.044715]
       const %root : f32[] = [0.7978846]
       const %one : f32[] = [1]
       const %half : f32[] = [0.5]
       %c = Mul(%x, %cubic) @first
       %q = Mul(%c, %x)
       %s = Add(%q, %one)
       %z = Mul(%x, %root)
       %u = Mul(%z, %s)
       %t = Tanh(%u)
       %a = Add(%t, %one)
       %h = Mul(%x, %half)
       %y = Mul(%h, %a)
       output %y)",
     "y:f32 = msc.Gelu(x:f32) @first\n"},
    {"no GELU where a step is read elsewhere", FuseOps, R"(
       input %x : f32[2,3]
       const %root : f32[] = [1.4142135]
       const %one : f32[] = [1]
       const %half : f32[] = [0.5]
       %d = Div(%x, %root)
       %e = Erf(%d)
       %a = Add(%e, %one)
       %m = Mul(%x, %a)
       %y = Mul(%m, %half)
       output %y
       output %e)",
     "same"},
    {"attention of heads, with scale, mask and transposes", FuseOps, R"(
       input %q : f32[4,6,5]
       input %k : f32[7,6,5]
       input %v : f32[7,6,3]
       input %mask : f32[4,7]
       const %scale : f32[] = [2]
       %qt = Transpose(%q) {perm = [1, 0, 2]}
       %qs = Div(%qt, %scale)
       %kt = Transpose(%k) {perm = [1, 2, 0]}
       %vt = Transpose(%v) {perm = [1, 0, 2]}
       %s = MatMul(%qs, %kt) @first
       %sm = Add(%s, %mask)
       %p = Softmax(%sm)
       %o = MatMul(%p, %vt)
       %y = Transpose(%o) {perm = [1, 0, 2]}
       output %y)",
     "y:f32 = msc.Attention(q:f32, k:f32, v:f32, mask:f32) @first\n"},
    {"attention without heads, scaled behind the product", FuseOps, R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       const %scale : f32[] = [0.5]
       %s = MatMul(%q, %k) @first
       %t = Mul(%s, %scale)
       %p = Softmax(%t) {axis = 1}
       %y = MatMul(%p, %v)
       output %y)",
     "y:f32 = msc.Attention(q:f32, k:f32, v:f32) @first\n"},
    {"no attention where the weights are an output", FuseOps, R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       %s = MatMul(%q, %k)
       %p = Softmax(%s)
       %y = MatMul(%p, %v)
       output %y
       output %p)",
     "same"},
    {"no attention over another axis", FuseOps, R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       %s = MatMul(%q, %k)
       %p = Softmax(%s) {axis = 0}
       %y = MatMul(%p, %v)
       output %y)",
     "same"},
};
INSTANTIATE_TEST_SUITE_P(Fused, Recognize, ::testing::ValuesIn(kFusedCases));

constexpr const char* kLayerWithGelu = R"(graph main {
  input %x : f32[2,6]
  const %w : f32[6,4] = random 1
  const %root : f32[] = [1.4142135]
  const %one : f32[] = [1]
  const %half : f32[] = [0.5]
  %h = MatMul(%x, %w) @fc
  %d = Div(%h, %root) @gelu
  %e = Erf(%d)
  %a = Add(%e, %one)
  %m = Mul(%h, %a)
  %y = Mul(%m, %half)
  output %y
})";

TEST(FuseOpsFor, LeavesTheActivationOutThatIsNotTaken) {
  const auto no_gelu_behind_layers = [](const Graph& graph, NodeId id) {
    return !AttrOr(graph.node(id), "activation", std::string()).starts_with("Gelu");
  };
  const Graph before = Parse(kLayerWithGelu);
  Graph after = before;
  EXPECT_TRUE(FuseOpsFor(after, no_gelu_behind_layers));
  EXPECT_EQ(Skeleton(after),
            "h:f32 = msc.Gemm(x:f32, w_packed:f32) @fc\n"
            "y:f32 = msc.Gelu(h:f32) @gelu\n");
  testing::ExpectSameNumbers(before, after);
}

TEST(FuseOpsFor, ChangesNothingForWhoTakesNothing) {
  const Graph before = Parse(kLayerWithGelu);
  Graph after = before;
  EXPECT_FALSE(FuseOpsFor(after, [](const Graph&, NodeId) { return false; }));
  EXPECT_EQ(Skeleton(after), Skeleton(before));
}

TEST(Canonicalize, FoldsShapeArithmeticThatDependsOnItself) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,3,4]
    const %zero : i64[1] = [0]
    const %two : i64[1] = [2]
    const %minus : i64[1] = [-1]
    %s = Shape(%x)
    %a = Gather(%s, %zero)
    %t = Concat(%a, %minus) {axis = 0}
    %y = Reshape(%x, %t)
    %ys = Shape(%y)
    %b = Gather(%ys, %minus)
    %u = Concat(%two, %b) {axis = 0}
    %r = Relu(%y)
    %z = Reshape(%r, %u)
    output %z
  })");
  EXPECT_TRUE(FoldConstants(graph));
  RemoveDeadCode(graph);
  EXPECT_EQ(Skeleton(graph),
            "y:f32 = Reshape(x:f32, t:i64) @Reshape\n"
            "r:f32 = Relu(y:f32) @Relu\n"
            "z:f32 = Reshape(r:f32, u:i64) @Reshape_1\n");
  EXPECT_EQ(ToString(*graph.type(graph.FindValue("z")).shape), "[2,12]");
}

}  // namespace
}  // namespace msc
