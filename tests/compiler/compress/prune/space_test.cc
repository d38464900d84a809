#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/compress/prune/support.h"
#include "tests/compiler/compress/prune/topology.h"

namespace msc {
namespace {

using testing::Describe;
using testing::GraphOf;
using testing::kHead;
using testing::kOut;
using testing::MaskedEqualsShrunk;
using testing::Parse;
using testing::RandomPlan;
using testing::Topology;
using testing::TopologyCase;

const std::vector<TopologyCase> kCases = {
    {"chain",
     "  const %w1 : f32[6,4,3,3] = random 1\n  const %b1 : f32[6] = random 2\n"
     "  const %s : f32[6,1,1] = random 5\n"
     "  const %w2 : f32[8,6,1,1] = random 3\n  const %wy : f32[3,8] = random 4\n"
     "  %a = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}\n  %r = PRelu(%a, %s) @act\n"
     "  %last = Conv(%r, %w2) @conv2\n" +
         std::string(kHead),
     "conv1: 6 units of 1 [conv1]\nconv2: 8 units of 1 [conv2]\n" + std::string(kOut)},
    {"residual_sum",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %w2 : f32[5,6,3,3] = random 2\n"
     "  const %w3 : f32[6,5,3,3] = random 3\n  const %wy : f32[3,6] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2) @conv2 {pads = [1, 1, 1, 1]}\n"
     "  %c = Sigmoid(%b) @act\n  %d = Conv(%c, %w3) @conv3 {pads = [1, 1, 1, 1]}\n"
     "  %last = Add(%d, %a) @sum\n" +
         std::string(kHead),
     "conv1: 6 units of 1 [conv1 conv3]\nconv2: 5 units of 1 [conv2]\n" + std::string(kOut)},
    {"dense_concat_with_batch_norm",
     "  const %w1 : f32[5,4,1,1] = random 1\n  const %w2 : f32[3,9,3,3] = random 2\n"
     "  const %g : f32[9] = random 3\n  const %b : f32[9] = random 4\n  const %m : f32[9] = random "
     "5\n"
     "  const %v : f32[9] = splat 2\n  const %wy : f32[3,12] = random 6\n"
     "  %a = Conv(%x, %w1) @conv1\n  %c = Concat(%x, %a) @cat1 {axis = 1}\n"
     "  %n = BatchNormalization(%c, %g, %b, %m, %v) @norm\n  %r = Relu(%n) @act\n"
     "  %d = Conv(%r, %w2) @conv2 {pads = [1, 1, 1, 1]}\n"
     "  %last = Concat(%d, %c) @cat2 {axis = -3}\n" +
         std::string(kHead),
     "conv1: 5 units of 1 [conv1]\nconv2: 3 units of 1 [conv2]\n" + std::string(kOut)},
    {"depthwise_with_multiplier",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %w2 : f32[12,1,3,3] = random 2\n"
     "  const %w3 : f32[4,12,1,1] = random 3\n  const %wy : f32[3,4] = random 4\n"
     "  %a = Conv(%x, %w1) @expand\n  %b = Conv(%a, %w2) @depth {group = 6, pads = [1, 1, 1, 1]}\n"
     "  %c = HardSwish(%b) @act\n  %d = Conv(%c, %w3) @project\n  %last = Add(%x, %d) @sum\n" +
         std::string(kHead),
     "expand: 6 units of 1 [expand depth]\n"
     "project fixed: 'x' is an input of the model\n" +
         std::string(kOut)},
    {"grouped_few_large_groups",
     "  const %w1 : f32[12,4,1,1] = random 1\n  const %w2 : f32[8,6,1,1] = random 2\n"
     "  const %b2 : f32[8] = random 5\n"
     "  const %w3 : f32[4,8,1,1] = random 3\n  const %wy : f32[3,4] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2, %b2) @grouped {group = 2}\n"
     "  %last = Conv(%b, %w3) @conv3\n" +
         std::string(kHead),
     "conv1: 6 units of 2 [conv1]\ngrouped: 4 units of 2 [grouped]\nconv3: 4 units of 1 [conv3]\n" +
         std::string(kOut)},
    {"grouped_many_small_groups",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %w2 : f32[8,2,1,1] = random 2\n"
     "  const %w3 : f32[4,8,1,1] = random 3\n  const %wy : f32[3,4] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2) @grouped {group = 4}\n"
     "  %last = Conv(%b, %w3) @conv3\n" +
         std::string(kHead),
     "conv1: 4 units of 2 [conv1 grouped]\nconv3: 4 units of 1 [conv3]\n" + std::string(kOut)},
    {"shuffle",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %s1 : i64[5] = [0, 2, 4, 6, 6]\n"
     "  const %s2 : i64[4] = [0, 8, 6, 6]\n  const %w2 : f32[5,8,1,1] = random 2\n"
     "  const %wy : f32[3,5] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Reshape(%a, %s1) @split\n"
     "  %c = Transpose(%b) @turn {perm = [0, 2, 1, 3, 4]}\n  %d = Reshape(%c, %s2) @merge\n"
     "  %last = Conv(%d, %w2) @conv2\n" +
         std::string(kHead),
     "conv1: 4 units of 2 [conv1]\nconv2: 5 units of 1 [conv2]\n" + std::string(kOut)},
    {"split_in_unequal_parts",
     "  const %w1 : f32[7,4,1,1] = random 1\n  const %s : i64[2] = [3, 4]\n"
     "  const %w2 : f32[5,3,1,1] = random 2\n  const %wy : f32[3,9] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b, %c = Split(%a, %s) @split {axis = 1}\n"
     "  %d = Conv(%b, %w2) @conv2\n  %last = Concat(%d, %c) @cat {axis = 1}\n" +
         std::string(kHead),
     "conv1: 7 units of 1 [conv1]\nconv2: 5 units of 1 [conv2]\n" + std::string(kOut)},
    {"split_in_halves_that_are_added",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %wy : f32[3,4] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b, %c = Split(%a) @split {axis = 1}\n"
     "  %last = Mul(%b, %c) @gate\n" +
         std::string(kHead),
     "conv1: 4 units of 2 [conv1]\n" + std::string(kOut)},
    {"slices",
     "  const %w1 : f32[7,4,1,1] = random 1\n  const %i0 : i64[1] = [0]\n  const %i3 : i64[1] = "
     "[3]\n"
     "  const %end : i64[1] = [9223372036854775807]\n  const %one : i64[1] = [1]\n"
     "  const %wy : f32[3,8] = random 4\n  const %w2 : f32[5,4,1,1] = random 2\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Slice(%a, %i0, %i3, %one) @low\n"
     "  %c = Slice(%a, %i3, %end, %one, %one) @high\n  %d = Conv(%c, %w2) @conv2\n"
     "  %last = Concat(%b, %d) @cat {axis = 1}\n" +
         std::string(kHead),
     "conv1: 7 units of 1 [conv1]\nconv2: 5 units of 1 [conv2]\n" + std::string(kOut)},
    {"gather_of_channels",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %i : i64[5] = [4, -1, 0, 0, 2]\n"
     "  const %wy : f32[3,5] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %last = Gather(%a, %i) @pick {axis = 1}\n" +
         std::string(kHead),
     "conv1: 6 units of 1 [conv1]\n" + std::string(kOut)},
    {"squeeze_and_excite",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %w2 : f32[3,6,1,1] = random 2\n"
     "  const %w3 : f32[6,3,1,1] = random 3\n  const %wy : f32[3,6] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = GlobalAveragePool(%a) @mean\n"
     "  %c = Conv(%b, %w2) @squeeze\n  %d = Relu(%c) @act\n  %e = Conv(%d, %w3) @excite\n"
     "  %g = HardSigmoid(%e) @gate\n  %last = Mul(%a, %g) @scale\n" +
         std::string(kHead),
     "conv1: 6 units of 1 [conv1 excite]\nsqueeze: 3 units of 1 [squeeze]\n" + std::string(kOut)},
    {"flatten_keeps_blocks",
     "  const %w1 : f32[5,4,3,3] = random 1\n  const %w2 : f32[20,7] = random 2\n"
     "  const %b2 : f32[7] = random 3\n  const %wy : f32[7,3] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1 {strides = [2, 2]}\n  %f = Flatten(%a) @flat\n"
     "  %g = Gemm(%f, %w2, %b2) @fc1\n  %h = Tanh(%g) @act\n  %y = MatMul(%h, %wy) @fc2\n",
     "conv1: 5 units of 1 [conv1]\nfc1: 7 units of 1 [fc1]\n"
     "fc2 fixed: 'y' is an output of the model\n"},
    {"transposed_convolutions",
     "  const %w1 : f32[4,6,2,2] = random 1\n  const %b1 : f32[6] = random 5\n"
     "  const %w2 : f32[6,1,3,3] = random 2\n  const %w3 : f32[5,6,1,1] = random 3\n"
     "  const %wy : f32[3,5] = random 4\n"
     "  %a = ConvTranspose(%x, %w1, %b1) @up {strides = [2, 2]}\n"
     "  %b = ConvTranspose(%a, %w2) @depth {group = 6}\n  %last = Conv(%b, %w3) @conv3\n" +
         std::string(kHead),
     "up: 6 units of 1 [up depth]\nconv3: 5 units of 1 [conv3]\n" + std::string(kOut)},
    {"resize_pad_and_sum_over_space",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %pads : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]\n"
     "  const %sizes : i64[4] = [2, 6, 16, 16]\n  const %axes : i64[2] = [2, 3]\n"
     "  const %wy : f32[3,6] = random 4\n  const %x0 : f32[2,4,6,6] = random 6\n"
     "  %a0 = Conv(%x0, %w1) @conv1\n  %b = Pad(%a0, %pads) @pad\n"
     "  %c = Resize(%b, _, _, %sizes) @up {mode = \"nearest\"}\n"
     "  %d = ReduceSum(%c, %axes) @sum {keepdims = 0}\n  %e = Gemm(%d, %wy) @fc {transB = 1}\n"
     "  %z = ReduceMean(%x) @mean {keepdims = 0}\n  %y = Add(%e, %z) @both\n",
     "conv1: 6 units of 1 [conv1]\nfc fixed: 'y' is an output of the model\n"},
    {"lstm_both_ways_and_backwards",
     "  const %rows : i64[3] = [0, 4, 36]\n  const %join : i64[3] = [0, 0, 12]\n"
     "  const %i0 : i64[1] = [0]\n  const %we : f32[4,5] = random 1\n"
     "  const %w1 : f32[2,24,5] = random 2\n  const %r1 : f32[2,24,6] = random 3\n"
     "  const %b1 : f32[2,48] = random 4\n  const %w2 : f32[1,12,12] = random 5\n"
     "  const %r2 : f32[1,12,3] = random 6\n  const %p2 : f32[1,9] = random 7\n"
     "  const %wy : f32[3,2] = random 8\n"
     "  %a = Reshape(%x, %rows) @rows\n  %t = Transpose(%a) @time {perm = [2, 0, 1]}\n"
     "  %e = MatMul(%t, %we) @embed\n"
     "  %l1 = LSTM(%e, %w1, %r1, %b1) @lstm1 {direction = \"bidirectional\", hidden_size = 6}\n"
     "  %u = Transpose(%l1) @turn {perm = [0, 2, 1, 3]}\n  %v = Reshape(%u, %join) @join\n"
     "  _, %l2, _ = LSTM(%v, %w2, %r2, _, _, _, _, %p2) @lstm2 {direction = \"reverse\"}\n"
     "  %q = Squeeze(%l2, %i0) @last\n  %y = Gemm(%q, %wy) @fc\n",
     "embed: 5 units of 1 [embed]\nlstm1: 6 units of 1 [lstm1]\nlstm2: 3 units of 1 [lstm2]\n" +
         std::string(kOut)},
    {"lstm_whose_states_are_read",
     "  const %x0 : f32[2,4,36] = random 1\n"
     "  const %w1 : f32[1,20,36] = random 2\n  const %r1 : f32[1,20,5] = random 3\n"
     "  const %h0 : f32[1,4,5] = random 4\n  const %c0 : f32[1,4,5] = random 5\n"
     "  const %l : i32[4] = [2, 1, 0, 2]\n  const %i0 : i64[1] = [0]\n"
     "  const %wy : f32[5,3] = random 6\n  const %b3 : f32[3] = random 7\n"
     "  _, %h, %c = LSTM(%x0, %w1, %r1, _, %l, %h0, %c0) @lstm\n"
     "  %s = Add(%h, %c) @sum\n  %q = Squeeze(%s, %i0) @last\n  %f = Gemm(%q, %wy, %b3) @fc\n"
     "  %m = ReduceMean(%x) @mean {keepdims = 0}\n  %y = Add(%f, %m) @both\n",
     "lstm: 5 units of 1 [lstm]\n" + std::string(kOut)},
    {"normalised_and_soft_axes_stay",
     "  const %w1 : f32[6,4,1,1] = random 1\n  const %g : f32[6,6] = random 2\n"
     "  const %w2 : f32[5,6,1,1] = random 3\n  const %w3 : f32[7,5,1,1] = random 5\n"
     "  const %wy : f32[3,7] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %t = LayerNormalization(%a, %g) @norm {axis = 2}\n"
     "  %b = Conv(%t, %w2) @conv2\n  %s = Softmax(%b) @soft {axis = 1}\n"
     "  %last = Conv(%s, %w3) @conv3\n" +
         std::string(kHead),
     "conv1: 6 units of 1 [conv1]\nconv3: 7 units of 1 [conv3]\n"
     "conv2 fixed: 'soft' (Softmax) mixes all entries of this axis\n" +
         std::string(kOut)},
    {"groups_of_a_norm_go_whole",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %b1 : f32[8] = random 2\n"
     "  const %ones : f32[4] = random 3\n  const %zeros : f32[4] = random 4\n"
     "  const %in : i64[3] = [0, 4, -1]\n  const %out : i64[4] = [0, 8, 6, 6]\n"
     "  const %s : f32[8,1,1] = random 5\n  const %o : f32[8,1,1] = random 6\n"
     "  const %w2 : f32[5,8,1,1] = random 7\n  const %wy : f32[3,5] = random 8\n"
     "  %a = Conv(%x, %w1, %b1) @conv1\n  %r = Reshape(%a, %in) @split\n"
     "  %i = InstanceNormalization(%r, %ones, %zeros) @norm\n  %u = Reshape(%i, %out) @join\n"
     "  %m = Mul(%u, %s) @scale\n  %d = Add(%m, %o) @shift\n  %last = Conv(%d, %w2) @conv2\n" +
         std::string(kHead),
     "conv1: 4 units of 2 [conv1]\nconv2: 5 units of 1 [conv2]\n" + std::string(kOut)},
    {"unknown_operators_stay",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %wy : f32[3,8] = random 4\n"
     "  const %axis : i64[] = [1]\n"
     "  %a = Conv(%x, %w1) @conv1\n  %last = CumProd(%a, %axis) @product\n" +
         std::string(kHead),
     "conv1 fixed: 'product' (CumProd) is not known to keep channels apart\n" + std::string(kOut)},
};
INSTANTIATE_TEST_SUITE_P(Prune, Topology, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.label; });

// One block of a vision transformer: 5 tokens of 12 features, 3 heads of 4.
std::string Transformer(bool fused_projection) {
  std::string text =
      "graph main {\n  input %x : f32[n,5,12]\n  const %g : f32[12] = random 1\n"
      "  const %b : f32[12] = random 2\n  const %scale : f32[] = splat 0.5\n"
      "  const %heads : i64[4] = [0, 0, 3, 4]\n  const %join : i64[3] = [0, 0, 12]\n"
      "  const %wo : f32[12,12] = random 6\n  const %w1 : f32[12,20] = random 7\n"
      "  const %b1 : f32[20] = random 8\n  const %w2 : f32[20,12] = random 9\n"
      "  %n1 = LayerNormalization(%x, %g, %b) @norm1\n";
  if (fused_projection) {
    text +=
        "  const %wqkv : f32[12,36] = random 3\n  const %bqkv : f32[36] = random 4\n"
        "  const %three : i64[5] = [0, 0, 3, 3, 4]\n  const %i0 : i64[] = [0]\n"
        "  const %i1 : i64[] = [1]\n  const %i2 : i64[] = [2]\n"
        "  %p = MatMul(%n1, %wqkv) @qkv\n  %pb = Add(%p, %bqkv) @qkv_bias\n"
        "  %p5 = Reshape(%pb, %three) @parts\n"
        "  %pt = Transpose(%p5) @turn {perm = [2, 0, 3, 1, 4]}\n"
        "  %q = Gather(%pt, %i0) @q {axis = 0}\n  %k1 = Gather(%pt, %i1) @k {axis = 0}\n"
        "  %v = Gather(%pt, %i2) @v {axis = 0}\n"
        "  %k = Transpose(%k1) @kt {perm = [0, 1, 3, 2]}\n";
  } else {
    text +=
        "  const %wq : f32[12,12] = random 3\n  const %wk : f32[12,12] = random 4\n"
        "  const %wv : f32[12,12] = random 5\n  const %bq : f32[12] = random 10\n"
        "  %q0 = MatMul(%n1, %wq) @q\n  %qb = Add(%q0, %bq) @q_bias\n"
        "  %q1 = Reshape(%qb, %heads) @q_heads\n"
        "  %q = Transpose(%q1) @q_turn {perm = [0, 2, 1, 3]}\n"
        "  %k0 = MatMul(%n1, %wk) @k\n  %k1 = Reshape(%k0, %heads) @k_heads\n"
        "  %k = Transpose(%k1) @k_turn {perm = [0, 2, 3, 1]}\n"
        "  %v0 = MatMul(%n1, %wv) @v\n  %v1 = Reshape(%v0, %heads) @v_heads\n"
        "  %v = Transpose(%v1) @v_turn {perm = [0, 2, 1, 3]}\n";
  }
  return text +
         "  %s = MatMul(%q, %k) @scores\n  %s1 = Mul(%s, %scale) @scaled\n"
         "  %s2 = Softmax(%s1) @soft\n  %o = MatMul(%s2, %v) @mixed\n"
         "  %o1 = Transpose(%o) @back {perm = [0, 2, 1, 3]}\n  %o2 = Reshape(%o1, %join) @joined\n"
         "  %o3 = MatMul(%o2, %wo) @out\n  %r1 = Add(%x, %o3) @sum1\n"
         "  %n2 = LayerNormalization(%r1, %g, %b) @norm2\n  %m = MatMul(%n2, %w1) @up\n"
         "  %m1 = Add(%m, %b1) @up_bias\n  %m2 = Relu(%m1) @act\n  %m3 = MatMul(%m2, %w2) @down\n"
         "  %y = Add(%r1, %m3) @sum2\n  output %y\n}";
}

TEST(PruneTransformer, CutsHeadsAndTheWidthOfTheMlp) {
  const std::string rest =
      "up: 20 units of 1 [up]\nout fixed: 'x' is an input of the model\n"
      "down fixed: 'x' is an input of the model\n";
  EXPECT_EQ(Describe(Parse(Transformer(false))), "q: 3 units of 4 [q k v]\n" + rest);
  EXPECT_EQ(Describe(Parse(Transformer(true))), "qkv: 3 units of 12 [qkv]\n" + rest);
}

TEST(PruneTransformer, MaskedEqualsShrunkWithSoftmaxInBetween) {
  for (const bool fused : {false, true}) {
    const Graph graph = Parse(Transformer(fused));
    const PruneSpace space(graph);
    Rng rng(5);
    for (std::uint64_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(MaskedEqualsShrunk(graph, RandomPlan(space, rng, 1.0), i));
    }
  }
}

TEST(PruneTransformer, MasksAProductOfTwoComputedValues) {
  // The features of a linear attention without heads go in both factors at once.
  const Graph graph = Parse(R"(graph main {
    input %x : f32[n,5,6]
    const %wq : f32[6,8] = random 1
    const %wk : f32[6,8] = random 2
    const %b : f32[8] = random 3
    %q0 = MatMul(%x, %wq) @q
    %q = Add(%q0, %b) @q_bias
    %k0 = MatMul(%x, %wk) @k
    %k = Transpose(%k0) @turn {perm = [0, 2, 1]}
    %y = MatMul(%q, %k) @scores
    output %y
  })");
  EXPECT_EQ(Describe(graph), "q: 8 units of 1 [q k]\n");
  const PrunePlan plan{{{"q", {.units = 8, .keep = {1, 2, 6}}}}};
  EXPECT_TRUE(MaskedEqualsShrunk(graph, plan, 1));
}

TEST(PrunePlanTest, MakesWeightsSmallerForReal) {
  Graph graph = GraphOf(kCases[0]);
  ApplyPrunePlan({{{"conv1", {.units = 6, .keep = {0, 3, 4}}}}}, graph);
  EXPECT_EQ(graph.constant(graph.FindValue("w1"))->dims(), (Dims{3, 4, 3, 3}));
  EXPECT_EQ(graph.constant(graph.FindValue("b1"))->dims(), (Dims{3}));
  EXPECT_EQ(graph.constant(graph.FindValue("s"))->dims(), (Dims{3, 1, 1}));
  EXPECT_EQ(graph.constant(graph.FindValue("w2"))->dims(), (Dims{8, 3, 1, 1}));
  EXPECT_EQ(ToString(graph.type(graph.FindValue("a"))), "f32[n,3,6,6]");
  const auto before = GraphOf(kCases[0]).constant(GraphOf(kCases[0]).FindValue("b1"));
  const auto after = graph.constant(graph.FindValue("b1"));
  EXPECT_EQ(after->Values<float>()[1], before->Values<float>()[3]);
}

TEST(PrunePlanTest, CountsWhatStays) {
  const Graph graph = GraphOf(kCases[0]);
  const PruneSpace space(graph);
  const std::vector<bool> all(space.units(), true);
  const std::vector<bool> kept = KeptUnits(space, {{{"conv1", {.units = 6, .keep = {0, 3, 4}}}}});
  const NodeId conv1 = graph.FindNode("conv1");
  const NodeId conv2 = graph.FindNode("conv2");
  EXPECT_EQ(KeptMacs(graph, space, conv1, all), 6 * 36 * 4 * 9);
  EXPECT_EQ(KeptMacs(graph, space, conv1, kept), 3 * 36 * 4 * 9);
  EXPECT_EQ(KeptMacs(graph, space, conv2, kept), 8 * 36 * 3);
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("act"), kept), 0);
  Graph shrunk = graph;
  ApplyPrunePlan({{{"conv1", {.units = 6, .keep = {0, 3, 4}}}}}, shrunk);
  EXPECT_EQ(KeptBytes(graph, space, kept), static_cast<double>(CountContents(shrunk).weight_bytes));
  EXPECT_EQ(2 * KeptMacs(graph, space, conv2, kept), [&] {
    InferTypes(shrunk, {{"n", 1}});
    return CostOf(shrunk, shrunk.FindNode("conv2")).flops;
  }());
}

TEST(PrunePlanTest, CutsAHiddenUnitOutOfEveryGate) {
  const auto the_case =
      std::ranges::find(kCases, std::string("lstm_both_ways_and_backwards"), &TopologyCase::label);
  const Graph graph = GraphOf(*the_case);
  const PruneSpace space(graph);
  const PrunePlan plan = {{{"lstm1", {.units = 6, .keep = {1, 4}}}}};
  Graph shrunk = graph;
  ApplyPrunePlan(plan, shrunk);
  const auto dims = [&](const char* name) {
    return shrunk.constant(shrunk.FindValue(name))->dims();
  };
  EXPECT_EQ(dims("w1"), (Dims{2, 8, 5}));
  EXPECT_EQ(dims("r1"), (Dims{2, 8, 2}));
  EXPECT_EQ(dims("b1"), (Dims{2, 16}));
  EXPECT_EQ(dims("w2"), (Dims{1, 12, 4}));
  EXPECT_EQ(AttrOr(shrunk.node(shrunk.FindNode("lstm1")), "hidden_size", std::int64_t{0}), 2);
  // Row 1 of gate 2 of the second direction was row 4 of it.
  const auto before = graph.constant(graph.FindValue("w1"));
  const auto after = shrunk.constant(shrunk.FindValue("w1"));
  EXPECT_EQ(after->Values<float>()[(8 + 2 * 2 + 1) * 5],
            before->Values<float>()[(24 + 2 * 6 + 4) * 5]);
  const std::vector<bool> kept = KeptUnits(space, plan);
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("lstm1"), kept), 36 * (2 * 8 * (5 + 2)));
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("lstm2"), kept), 36 * (12 * (4 + 3)));
  EXPECT_EQ(KeptBytes(graph, space, kept), static_cast<double>(CountContents(shrunk).weight_bytes));
}

struct BadPlan {
  std::string label;
  PrunePlan plan;
  std::string error;
};
void PrintTo(const BadPlan& c, std::ostream* os) {
  *os << c.label;
}
class Refused : public ::testing::TestWithParam<BadPlan> {};
TEST_P(Refused, LeavesTheGraphAsItWas) {
  const Graph before = GraphOf(kCases[7]);  // split_in_unequal_parts
  Graph graph = before;
  try {
    ApplyPrunePlan(GetParam().plan, graph);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "prune plan: " + GetParam().error);
  }
  EXPECT_TRUE(SameGraph(graph, before));
}
INSTANTIATE_TEST_SUITE_P(
    Prune, Refused,
    ::testing::Values(BadPlan{"unknown_group",
                              {{{"fc", {.units = 3, .keep = {0}}}}},
                              "the graph has no group 'fc' that can be pruned"},
                      BadPlan{
                          "other_graph",
                          {{{"conv1", {.units = 8, .keep = {0}}}}},
                          "group 'conv1' has 7 units, not 8: the plan was made for another graph"},
                      BadPlan{"keeps_nothing",
                              {{{"conv1", {.units = 7, .keep = {}}}}},
                              "group 'conv1' must keep at least one unit"},
                      BadPlan{"out_of_range",
                              {{{"conv1", {.units = 7, .keep = {1, 7}}}}},
                              "group 'conv1': the units to keep must ascend between 0 and 6"},
                      BadPlan{"twice",
                              {{{"conv1", {.units = 7, .keep = {2, 2}}}}},
                              "group 'conv1': the units to keep must ascend between 0 and 6"},
                      BadPlan{"empty_branch",
                              {{{"conv1", {.units = 7, .keep = {0, 1, 2}}}}},
                              "a branch of group 'conv1' would be left without any channel"}),
    [](const auto& test) { return test.param.label; });

TEST(PrunePlanTest, IsAnOptionalPartOfAStrategy) {
  const char* old = R"({"format":"msc-strategy-1","quantize":{"layers":{"conv1":"bf16"}}})";
  EXPECT_TRUE(StrategyFromJson(old, "old").prune.groups.empty());
  Strategy strategy;
  strategy.prune.groups["conv1"] = {.units = 6, .keep = {0, 3, 4}};
  EXPECT_EQ(StrategyFromJson(ToJson(strategy), "new"), strategy);
}

}  // namespace
}  // namespace msc
