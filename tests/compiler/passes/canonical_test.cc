#include <map>
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

bool CanonicalizeChanges(Graph& graph) {
  const Graph before = graph;
  Canonicalize(graph);
  return !SameGraph(before, graph);
}

const std::map<std::string, bool (*)(Graph&)>& PassTable() {
  static const std::map<std::string, bool (*)(Graph&)> kTable = {
      {"FoldConstants", FoldConstants},
      {"FoldBatchNorm", FoldBatchNorm},
      {"RemoveDeadCode", RemoveDeadCode},
      {"RemoveIdentities", RemoveIdentities},
      {"CancelRequantization", CancelRequantization},
      {"Canonicalize", CanonicalizeChanges},
  };
  return kTable;
}

struct Case {
  std::string label;
  std::string pass;
  std::string before;
  std::string after;  ///< Skeleton; "same" where nothing may change
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.pass << " " << test.label;
}

class CanonicalPass : public ::testing::TestWithParam<Case> {};

TEST_P(CanonicalPass, ChangesTheGraphAsListedAndNothingElse) {
  const Graph before = Parse(GetParam().before);
  const auto pass = PassTable().at(GetParam().pass);
  Graph after = before;
  const bool changed = pass(after);
  const bool same = GetParam().after == "same";
  EXPECT_EQ(changed, !same);
  EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : GetParam().after);
  ExpectSound(pass, before);
}

const std::vector<Case> kCases = {
    {"keeps what outputs depend on", "RemoveDeadCode", R"(graph main {
       input %x : f32[2,3]
       const %c : f32[3] = random 1
       %y = Add(%x, %c)
       output %y
     })",
     "same"},
    {"removes chains and constants nobody reads, keeps inputs", "RemoveDeadCode", R"(graph main {
       input %x : f32[2,3]
       input %unread : f32[2,3]
       const %c : f32[3] = random 1
       const %d : f32[3] = random 2
       %y = Relu(%x)
       %a = Add(%x, %d)
       %b = Relu(%a)
       output %y
     })",
     "y:f32 = Relu(x:f32) @Relu\n"},

    {"evaluates nodes of constants", "FoldConstants", R"(graph main {
       input %x : f32[2,3]
       const %a : f32[3] = random 1
       const %b : f32[3] = random 2
       %c = Add(%a, %b)
       %d = Relu(%c)
       %y = Add(%x, %d)
       output %y
     })",
     "y:f32 = Add(x:f32, d:f32) @Add_1\n"},
    {"takes the shape of a static value as constant", "FoldConstants", R"(graph main {
       input %x : f32[2,3,4]
       input %z : f32[24]
       %s = Shape(%x)
       %y = Reshape(%z, %s)
       output %y
     })",
     "y:f32 = Reshape(z:f32, s:i64) @Reshape\n"},
    {"takes one known dimension of a partly known shape", "FoldConstants", R"(graph main {
       input %x : f32[n,3]
       input %k : f32[1,3]
       const %one : i64[1] = [1]
       %s = Shape(%x)
       %d = Gather(%s, %one)
       %z = Relu(%k)
       %y = Reshape(%z, %d)
       output %y
     })",
     "s:i64 = Shape(x:f32) @Shape\nz:f32 = Relu(k:f32) @Relu\ny:f32 = Reshape(z:f32, d:i64) "
     "@Reshape\n"},
    {"leaves an unknown dimension", "FoldConstants", R"(graph main {
       input %x : f32[n,3]
       const %zero : i64[1] = [0]
       %s = Shape(%x)
       %d = Gather(%s, %zero)
       output %d
     })",
     "same"},
    {"leaves stored weights narrow", "FoldConstants", R"(graph main {
       input %x : f32[2,2]
       const %w : i8[2,2] = [1, 2, 3, 4]
       const %s : f32[] = [0.5]
       const %z : i8[] = [0]
       const %b : bf16[2] = [1, 2]
       %d = DequantizeLinear(%w, %s, %z)
       %f = Cast(%b) {to = 1}
       %p = MatMul(%x, %d)
       %y = Add(%p, %f)
       output %y
     })",
     "same"},
    {"leaves a graph output to a node", "FoldConstants", R"(graph main {
       input %x : f32[2]
       const %a : f32[2] = random 1
       %y = Relu(%a)
       %z = Relu(%x)
       output %y
       output %z
     })",
     "same"},

    {"removes Identity, Dropout, Cast to the same type, Concat of one, empty Pad",
     "RemoveIdentities",
     R"(graph main {
       input %x : f32[2,3]
       const %pads : i64[4] = [0, 0, 0, 0]
       %a = Identity(%x)
       %b = Cast(%a) {to = 1}
       %c = Concat(%b) {axis = 0}
       %d = Pad(%c, %pads)
       %y = Relu(%d)
       output %y
     })",
     "y:f32 = Relu(x:f32) @Relu\n"},
    {"keeps the name of a graph output", "RemoveIdentities", R"(graph main {
       input %x : f32[2,3]
       %a = Relu(%x)
       %y = Identity(%a)
       output %y
     })",
     "y:f32 = Relu(x:f32) @Relu\n"},
    {"keeps an Identity between an input and an output", "RemoveIdentities", R"(graph main {
       input %x : f32[2,3]
       %y = Identity(%x)
       output %y
     })",
     "same"},
    {"keeps one of two outputs that are one value", "RemoveIdentities", R"(graph main {
       input %x : f32[2,3]
       %a = Relu(%x)
       %y = Identity(%a)
       output %a
       output %y
     })",
     "same"},
    {"removes shape operators that change nothing", "RemoveIdentities", R"(graph main {
       input %x : f32[n,3]
       const %s : i64[2] = [0, 3]
       %a = Reshape(%x, %s)
       %b = Flatten(%a)
       %c = Transpose(%b) {perm = [0, 1]}
       %y = Relu(%c)
       output %y
     })",
     "y:f32 = Relu(x:f32) @Relu\n"},
    {"leaves out a state of zeros", "Canonicalize", R"(graph main {
       input %x : f32[5,n,3]
       const %w : f32[1,8,3] = random 1
       const %r : f32[1,8,2] = random 2
       const %c0 : f32[1,1,2] = splat 0
       const %one : i64[1] = [1]
       const %two : i64[1] = [2]
       %b = Shape(%x) {start = 1, end = 2}
       %s = Concat(%one, %b, %two) {axis = 0}
       %h = ConstantOfShape(%s)
       %c = Expand(%c0, %s)
       %y = LSTM(%x, %w, %r, _, _, %h, %c)
       output %y
     })",
     "y:f32 = LSTM(x:f32, w:f32, r:f32, _, _, _, _) @LSTM\n"},
    {"keeps a state that is not all zeros", "Canonicalize", R"(graph main {
       input %x : f32[5,1,3]
       const %w : f32[1,8,3] = random 1
       const %r : f32[1,8,2] = random 2
       const %h : f32[1,1,2] = [0, 1]
       %y = LSTM(%x, %w, %r, _, _, %h)
       output %y
     })",
     "same"},
    {"merges transposes", "RemoveIdentities", R"(graph main {
       input %x : f32[2,3,4]
       %a = Transpose(%x) {perm = [1, 2, 0]}
       %b = Transpose(%a) {perm = [2, 0, 1]}
       %y = Relu(%b)
       output %y
     })",
     "a:f32 = Transpose(x:f32) @Transpose\ny:f32 = Relu(x:f32) @Relu\n"},
    {"merges reshapes", "RemoveIdentities", R"(graph main {
       input %x : f32[2,3,4]
       const %s : i64[2] = [6, 4]
       const %t : i64[1] = [24]
       %a = Reshape(%x, %s)
       %b = Reshape(%a, %t)
       %y = Relu(%b)
       output %y
     })",
     "a:f32 = Reshape(x:f32, s:i64) @Reshape\nb:f32 = Reshape(x:f32, t:i64) @Reshape_1\n"
     "y:f32 = Relu(b:f32) @Relu\n"},
    {"keeps a reshape whose zero copies a dimension of the first", "RemoveIdentities",
     R"(graph main {
       input %x : f32[2,3,4]
       const %s : i64[2] = [6, 4]
       const %t : i64[3] = [0, 2, 2]
       %a = Reshape(%x, %s)
       %b = Reshape(%a, %t)
       output %b
     })",
     "same"},

    {"cancels equal pairs", "CancelRequantization", R"(graph main {
       input %q : u8[2,3]
       const %s : f32[] = [0.1]
       const %z : u8[] = [3]
       %a = DequantizeLinear(%q, %s, %z)
       %b = QuantizeLinear(%a, %s, %z)
       %c = DequantizeLinear(%b, %s, %z)
       output %c
     })",
     "a:f32 = DequantizeLinear(q:u8, s:f32, z:u8) @DequantizeLinear\n"
     "c:f32 = DequantizeLinear(q:u8, s:f32, z:u8) @DequantizeLinear_1\n"},
    {"keeps another scale", "CancelRequantization", R"(graph main {
       input %q : u8[2,3]
       const %s : f32[] = [0.1]
       const %t : f32[] = [0.2]
       const %z : u8[] = [3]
       %a = DequantizeLinear(%q, %s, %z)
       %b = QuantizeLinear(%a, %t, %z)
       output %b
     })",
     "same"},
    {"keeps a scale too small to be exact", "CancelRequantization", R"(graph main {
       input %q : u8[2,3]
       const %s : f32[] = [1e-40]
       const %z : u8[] = [3]
       %a = DequantizeLinear(%q, %s, %z)
       %b = QuantizeLinear(%a, %s, %z)
       output %b
     })",
     "same"},
    {"cancels bf16 round trips", "CancelRequantization", R"(graph main {
       input %x : f32[2,3]
       %h = Cast(%x) {to = 16}
       %f = Cast(%h) {to = 1}
       %g = Cast(%f) {to = 16}
       %y = Cast(%g) {to = 1}
       output %y
     })",
     "h:bf16 = Cast(x:f32) @Cast\nf:f32 = Cast(h:bf16) @Cast_1\ny:f32 = Cast(h:bf16) @Cast_3\n"},
};

INSTANTIATE_TEST_SUITE_P(Cases, CanonicalPass, ::testing::ValuesIn(kCases));

// --- BatchNormalization ---

struct NormCase {
  std::string label;
  std::string layer;  ///< makes %c
  std::string shape;  ///< of %x
  std::string after;  ///< "same", or the Skeleton
};

void PrintTo(const NormCase& test, std::ostream* out) {
  *out << test.label;
}

class FoldsTheNorm : public ::testing::TestWithParam<NormCase> {};

std::string NormGraph(const NormCase& test) {
  return "graph main {\n input %x : f32[" + test.shape + "]\n" + test.layer + R"(
    const %scale : f32[4] = random 11
    const %shift : f32[4] = random 12
    const %mean : f32[4] = random 13
    const %var : f32[4] = [0.5, 1.5, 1e-6, 3]
    %n = BatchNormalization(%c, %scale, %shift, %mean, %var) @bn {epsilon = 0.001}
    %y = Relu(%n)
    output %y
  })";
}

TEST_P(FoldsTheNorm, WithTheSameNumbers) {
  const Graph before = Parse(NormGraph(GetParam()));
  Graph after = before;
  FoldBatchNorm(after);
  RemoveDeadCode(after);
  const bool same = GetParam().after == "same";
  EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : GetParam().after);
  ExpectSound(FoldBatchNorm, before);
}

const std::vector<NormCase> kNorms = {
    {"after a convolution", R"(const %w : f32[4,3,3,3] = random 1
      %c = Conv(%x, %w) @conv)",
     "n,3,5,5", "c:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\ny:f32 = Relu(c:f32) @Relu\n"},
    {"after a convolution with bias", R"(const %w : f32[4,3,3,3] = random 1
      const %b : f32[4] = random 2
      %c = Conv(%x, %w, %b) @conv)",
     "n,3,5,5", "c:f32 = Conv(x:f32, w:f32, b:f32) @conv\ny:f32 = Relu(c:f32) @Relu\n"},
    {"after a depthwise convolution", R"(const %w : f32[4,1,3,3] = random 1
      %c = Conv(%x, %w) @conv {group = 4, pads = [1, 1, 1, 1]})",
     "n,4,5,5", "c:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\ny:f32 = Relu(c:f32) @Relu\n"},
    {"after a Gemm", R"(const %w : f32[4,6] = random 1
      const %b : f32[4] = random 2
      %c = Gemm(%x, %w, %b) @fc {transB = 1, alpha = 0.5, beta = 2.0})",
     "n,6", "c:f32 = Gemm(x:f32, w:f32, b:f32) @fc\ny:f32 = Relu(c:f32) @Relu\n"},
    {"after a Gemm of untransposed weights", R"(const %w : f32[6,4] = random 1
      %c = Gemm(%x, %w) @fc)",
     "n,6", "c:f32 = Gemm(x:f32, w:f32, fc_bias:f32) @fc\ny:f32 = Relu(c:f32) @Relu\n"},
    {"after a MatMul, which becomes a Gemm", R"(const %w : f32[6,4] = random 1
      %c = MatMul(%x, %w) @fc)",
     "n,6", "c:f32 = Gemm(x:f32, w:f32, fc_bias:f32) @fc\ny:f32 = Relu(c:f32) @Relu\n"},
    {"but not after anything else", R"(%c = Relu(%x))", "n,4,5,5", "same"},
    {"but not where the convolution is read elsewhere", R"(const %w : f32[4,3,3,3] = random 1
      %c = Conv(%x, %w) @conv
      %other = Sigmoid(%c)
      output %other)",
     "n,3,5,5", "same"},
    {"but not where the convolution is an output", R"(const %w : f32[4,3,3,3] = random 1
      %c = Conv(%x, %w) @conv
      output %c)",
     "n,3,5,5", "same"},
};

INSTANTIATE_TEST_SUITE_P(Layers, FoldsTheNorm, ::testing::ValuesIn(kNorms));

TEST(FoldBatchNorm, FoldsConstantsPerChannelToo) {
  const Graph before = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %m : f32[1,4,1,1] = random 2
    const %a : f32[4,1,1] = random 3
    const %s : f32[] = [0.25]
    %c = Conv(%x, %w) @conv
    %d = Mul(%m, %c)
    %e = Add(%d, %a)
    %y = Mul(%e, %s)
    output %y
  })");
  Graph after = before;
  EXPECT_TRUE(FoldBatchNorm(after));
  RemoveDeadCode(after);
  EXPECT_EQ(Skeleton(after), "y:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\n");
  ExpectSound(FoldBatchNorm, before);
}

TEST(FoldBatchNorm, KeepsConstantsThatVaryAlongOtherAxes) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %row : f32[4] = random 2
    %c = Conv(%x, %w) @conv
    %y = Mul(%c, %row)
    output %y
  })");
  Graph after = graph;
  EXPECT_FALSE(FoldBatchNorm(after));
  EXPECT_TRUE(SameGraph(graph, after));
}

TEST(FoldBatchNorm, LeavesWeightsThatAnotherLayerShares) {
  const Graph before = Parse(R"(graph main {
    input %x : f32[2,4,4,4]
    const %w : f32[4,4,1,1] = random 1
    const %m : f32[4,1,1] = random 2
    %c = Conv(%x, %w) @a
    %d = Mul(%c, %m)
    %y = Conv(%d, %w) @b
    output %y
  })");
  Graph after = before;
  EXPECT_TRUE(FoldBatchNorm(after));
  EXPECT_EQ(*after.constant(after.FindValue("w")), *before.constant(before.FindValue("w")));
  ExpectSound(FoldBatchNorm, before);
}

TEST(FoldBatchNorm, LeavesANormOfNegativeVariance) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,1,4,4]
    const %w : f32[1,1,1,1] = [1]
    const %one : f32[1] = [1]
    const %var : f32[1] = [-1]
    %c = Conv(%x, %w)
    %y = BatchNormalization(%c, %one, %one, %one, %var)
    output %y
  })");
  EXPECT_FALSE(FoldBatchNorm(graph));
}

// --- Canonicalize ---

TEST(Canonicalize, ReachesAFixpointAndSaysWhatItDid) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %one : f32[4] = splat 1.0
    const %minus : i64[1] = [-1]
    const %zero : i64[] = [0]
    const %axes : i64[1] = [0]
    %c = Conv(%x, %w) @conv
    %i = Identity(%c)
    %n = BatchNormalization(%i, %one, %one, %one, %one) @bn
    %s = Shape(%n)
    %d = Gather(%s, %zero)
    %u = Unsqueeze(%d, %axes)
    %t = Concat(%u, %minus) {axis = 0}
    %y = Reshape(%n, %t)
    output %y
  })");
  const Graph before = graph;
  std::vector<std::string> log;
  Canonicalize(graph, [&](const std::string& line) { log.push_back(line); });
  EXPECT_EQ(Skeleton(graph),
            "c:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\n"
            "y:f32 = Reshape(c:f32, t:i64) @Reshape\n");
  EXPECT_EQ(ToString(*graph.type(graph.FindValue("y")).shape), "[2,64]");
  testing::ExpectSameNumbers(before, graph);
  ASSERT_GE(log.size(), 2 * CanonicalPasses().size());
  EXPECT_EQ(log.front().substr(0, 28), "remove_identities: changed, ");
  EXPECT_EQ(log.back().substr(0, 29), "remove_dead_code: unchanged, ");
  EXPECT_EQ(log.back().substr(log.back().size() - 3), " ms");
  const Graph settled = graph;
  Canonicalize(graph);
  EXPECT_TRUE(SameGraph(settled, graph));
}

TEST(Canonicalize, KeepsWhatNestedGraphsCapture) {
  Graph graph = ParseGraph(R"(graph main {
    input %c : bool[]
    input %x : f32[2]
    const %k : f32[2] = [1, 2]
    const %l : f32[2] = [1, 2]
    %a = Identity(%x) : f32[2]
    %b = Add(%k, %l) : f32[2]
    %y = If(%c) {
      else_branch = graph e { captured %a : f32[2] output %a },
      then_branch = graph t { captured %b : f32[2] output %b }
    } : f32[2]
    output %y
  })");
  const std::string before = Print(graph);
  for (const Pass& pass : CanonicalPasses()) EXPECT_FALSE(pass.run(graph)) << pass.name;
  EXPECT_EQ(Print(graph), before);
}

}  // namespace
}  // namespace msc
