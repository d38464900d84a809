// Functions that exporters write as several operators become operators of domain "msc". Cases of
// the passes that make ONNX operators of them are in cases/.

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
  FuseOps(after);
  const bool same = GetParam().after == "same";
  EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : GetParam().after);
  ExpectSound(FuseOps, before);
}

const std::vector<Case> kFusedCases = {
    {"GELU by erf, a layer's activation", R"(
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
    {"GELU by erf alone, the half taken first", R"(
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
    {"GELU by tanh of a cube", R"(
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
    {"GELU by tanh with x taken out", R"(
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
    {"no GELU where a step is read elsewhere", R"(
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
    {"attention of heads, with scale, mask and transposes", R"(
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
    {"attention without heads, scaled behind the product", R"(
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
    {"attention whose NaN become 0, behind a mask", R"(
       input %q : f32[2,4,5]
       input %k : f32[2,5,7]
       input %v : f32[2,7,3]
       input %mask : f32[4,7]
       const %zero : f32[] = [0]
       %s = MatMul(%q, %k) @first
       %m = Add(%s, %mask)
       %p = Softmax(%m)
       %n = IsNaN(%p)
       %w = Where(%n, %zero, %p)
       %y = MatMul(%w, %v)
       output %y)",
     "y:f32 = msc.Attention(q:f32, k:f32, v:f32, mask:f32) @first\n"},
    {"no attention whose NaN become another number", R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       const %one : f32[] = [1]
       %s = MatMul(%q, %k)
       %p = Softmax(%s)
       %n = IsNaN(%p)
       %w = Where(%n, %one, %p)
       %y = MatMul(%w, %v)
       output %y)",
     "same"},
    {"no attention where numbers become 0, or NaN of another value", R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       const %zero : f32[] = [0]
       %s = MatMul(%q, %k)
       %p = Softmax(%s)
       %n = IsNaN(%p)
       %w = Where(%n, %p, %zero)
       %y = MatMul(%w, %v)
       %u = Softmax(%s)
       %o = IsNaN(%s)
       %x = Where(%o, %zero, %u)
       %z = MatMul(%x, %v)
       output %y
       output %z)",
     "same"},
    {"no attention where the weights in front of the guard are an output", R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       const %zero : f32[] = [0]
       %s = MatMul(%q, %k)
       %p = Softmax(%s)
       %n = IsNaN(%p)
       %w = Where(%n, %zero, %p)
       %y = MatMul(%w, %v)
       output %y
       output %p)",
     "same"},
    {"no attention where the weights are an output", R"(
       input %q : f32[4,5]
       input %k : f32[5,7]
       input %v : f32[7,3]
       %s = MatMul(%q, %k)
       %p = Softmax(%s)
       %y = MatMul(%p, %v)
       output %y
       output %p)",
     "same"},
    {"no attention over another axis", R"(
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

TEST(FuseAttention, GivesZerosWhereTheMaskExcludesAllKeys) {
  const Graph before = Parse(R"(graph main {
  input %q : f32[2,5]
  input %k : f32[5,3]
  input %v : f32[3,4]
  const %mask : f32[2,3] = [-inf, -inf, -inf, -inf, 0, -inf]
  const %zero : f32[] = [0]
  %s = MatMul(%q, %k) @first
  %m = Add(%s, %mask)
  %p = Softmax(%m)
  %n = IsNaN(%p)
  %w = Where(%n, %zero, %p)
  %y = MatMul(%w, %v)
  output %y
})");
  Graph after = before;
  EXPECT_TRUE(FuseOps(after));
  EXPECT_EQ(Skeleton(after), "y:f32 = msc.Attention(q:f32, k:f32, v:f32, mask:f32) @first\n");
  testing::ExpectSameNumbers(before, after);
  const std::vector<Tensor> inputs = testing::RandomInputs(after, 1);
  const Tensor y = Interpret(after, inputs).at(0);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(y.Values<float>()[i], 0);
    EXPECT_EQ(y.Values<float>()[4 + i], inputs[2].Values<float>()[4 + i]);
  }
}

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
