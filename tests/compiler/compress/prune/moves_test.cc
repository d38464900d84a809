// Operators that move, pick or regroup channels: what exporters write for chunks, strides, pixel
// shuffles and lists that several layers read.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/compiler/compress/prune/topology.h"

namespace msc {
namespace {

using testing::Describe;
using testing::GraphOf;
using testing::kHead;
using testing::kOut;
using testing::Topology;
using testing::TopologyCase;

const std::vector<TopologyCase> kCases = {
    {"even_and_odd_channels",
     "  const %w1 : f32[9,4,1,1] = random 1\n  const %w2 : f32[4,5,1,1] = random 2\n"
     "  const %w3 : f32[3,4,1,1] = random 3\n  const %wy : f32[3,7] = random 4\n"
     "  const %i0 : i64[1] = [0]\n  const %i1 : i64[1] = [1]\n  const %two : i64[1] = [2]\n"
     "  const %end : i64[1] = [9223372036854775807]\n"
     "  %a = Conv(%x, %w1) @conv1\n  %even = Slice(%a, %i0, %end, %i1, %two) @even\n"
     "  %odd = Slice(%a, %i1, %end, %i1, %two) @odd\n  %b = Conv(%even, %w2) @conv2\n"
     "  %c = Conv(%odd, %w3) @conv3\n  %last = Concat(%b, %c) @join {axis = 1}\n" +
         std::string(kHead),
     "conv1: 9 units of 1 [conv1]\nconv2: 4 units of 1 [conv2]\nconv3: 3 units of 1 [conv3]\n" +
         std::string(kOut)},
    {"every_third_channel_backwards_and_every_second_row",
     "  const %w1 : f32[10,4,1,1] = random 1\n  const %w2 : f32[4,4,1,1] = random 2\n"
     "  const %wy : f32[3,4] = random 4\n  const %from : i64[2] = [-1, 0]\n"
     "  const %to : i64[2] = [-9223372036854775807, 5]\n  const %axes : i64[2] = [1, -2]\n"
     "  const %steps : i64[2] = [-3, 2]\n  %a = Conv(%x, %w1) @conv1\n"
     "  %b = Slice(%a, %from, %to, %axes, %steps) @thirds\n  %last = Conv(%b, %w2) @conv2\n" +
         std::string(kHead),
     "conv1: 10 units of 1 [conv1]\nconv2: 4 units of 1 [conv2]\n" + std::string(kOut)},
    {"blocks_of_pixels_become_channels_and_pixels_again",
     "  const %w1 : f32[3,4,1,1] = random 1\n  const %w2 : f32[20,12,1,1] = random 2\n"
     "  const %w3 : f32[8,5,1,1] = random 3\n  const %wy : f32[3,2] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %s = SpaceToDepth(%a) @deep {blocksize = 2}\n"
     "  %b = Conv(%s, %w2) @conv2\n"
     "  %d = DepthToSpace(%b) @wide {blocksize = 2, mode = \"CRD\"}\n  %c = Conv(%d, %w3) @conv3\n"
     "  %last = DepthToSpace(%c) @wider {blocksize = 2, mode = \"DCR\"}\n" +
         std::string(kHead),
     "conv1: 3 units of 1 [conv1]\nconv2: 5 units of 4 [conv2]\nconv3: 2 units of 4 [conv3]\n" +
         std::string(kOut)},
    {"a_bias_that_two_layers_read",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %w2 : f32[8,8,1,1] = random 2\n"
     "  const %shared : f32[8] = random 3\n  const %wy : f32[3,8] = random 4\n"
     "  %a = Conv(%x, %w1, %shared) @conv1\n  %last = Conv(%a, %w2, %shared) @conv2\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\nconv2: 8 units of 1 [conv2]\n" + std::string(kOut)},
    {"a_layer_that_is_applied_twice",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %w2 : f32[8,8,1,1] = random 2\n"
     "  const %shared : f32[8] = random 3\n  const %wy : f32[3,8] = random 4\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2, %shared) @conv2\n"
     "  %last = Conv(%b, %w2, %shared) @again\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1 conv2 again]\n" + std::string(kOut)},
    {"a_split_whose_second_part_nobody_reads",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %sizes : i64[3] = [3, 1, 4]\n"
     "  const %wy : f32[3,7] = random 4\n  %a = Conv(%x, %w1) @conv1\n"
     "  %b, _, %c = Split(%a, %sizes) @parts {axis = 1}\n"
     "  %last = Concat(%c, %b) @join {axis = 1}\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\n" + std::string(kOut)},
    {"rows_picked_by_number",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %wy : f32[3,8] = random 4\n"
     "  const %rows : i64[5,1] = [0, 2, 3, 5, 1]\n  %a = Conv(%x, %w1) @conv1\n"
     "  %t = Transpose(%a) @front {perm = [2, 1, 0, 3]}\n  %g = GatherND(%t, %rows) @rows\n"
     "  %last = Transpose(%g) @back {perm = [2, 1, 0, 3]}\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\n" + std::string(kOut)},
    {"channels_whose_number_is_read",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %w2 : f32[8,8,1,1] = random 2\n"
     "  const %wy : f32[3,8] = random 4\n  const %one : i64[1] = [1]\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2) @conv2\n  %s = Shape(%b) @sizes\n"
     "  %n = Gather(%s, %one) @channels\n  %m = Cast(%n) @number {to = 1}\n"
     "  %last = Mul(%b, %m) @scaled\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\nconv2 fixed: 'sizes' (Shape) reads the size of this axis\n" +
         std::string(kOut)},
    {"rows_whose_number_is_read",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %wy : f32[3,8] = random 4\n"
     "  const %from : i64[1] = [2]\n  const %end : i64[1] = [3]\n"
     "  %a = Conv(%x, %w1) @conv1\n  %s = Shape(%a) @sizes\n  %n = Slice(%s, %from, %end) @rows\n"
     "  %m = Cast(%n) @number {to = 1}\n  %last = Mul(%a, %m) @scaled\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\n" + std::string(kOut)},
    {"channels_beside_added_zeros",
     "  const %w1 : f32[5,4,1,1] = random 1\n  const %w2 : f32[3,8,1,1] = random 2\n"
     "  const %wy : f32[3,3] = random 4\n  const %pads : i64[8] = [0, 1, 0, 0, 0, 2, 0, 0]\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Pad(%a, %pads) @pad\n  %last = Conv(%b, %w2) @conv2\n" +
         std::string(kHead),
     "conv1: 5 units of 1 [conv1]\nconv2: 3 units of 1 [conv2]\n" + std::string(kOut)},
    {"weights_behind_integers",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %q : i8[6,8,1,1] = splat 3\n"
     "  const %s : f32[6] = splat 0.25\n  const %w3 : f32[5,6,1,1] = random 3\n"
     "  const %wy : f32[3,5] = random 4\n  %w2 = DequantizeLinear(%q, %s) @wide {axis = 0}\n"
     "  %a = Conv(%x, %w1) @conv1\n  %b = Conv(%a, %w2) @conv2\n"
     "  %last = Conv(%b, %w3) @conv3\n" +
         std::string(kHead),
     "conv1: 8 units of 1 [conv1]\nconv3: 5 units of 1 [conv3]\n" + std::string(kOut) +
         "conv2 fixed: " + kIntegerWeights + "\n"},
    {"a_target_shape_with_a_computed_batch",
     "  const %w1 : f32[8,4,1,1] = random 1\n  const %w2 : f32[8,12] = random 2\n"
     "  const %w3 : f32[12,3] = random 3\n  const %zero : i64[1] = [0]\n"
     "  const %places : i64[1] = [18]\n  const %two : i64[1] = [2]\n"
     "  const %deep : i64[1] = [8]\n  %a = Conv(%x, %w1) @conv1\n"
     "  %t = Transpose(%a) @turn {perm = [0, 2, 3, 1]}\n  %s = Shape(%x) @shape\n"
     "  %n = Gather(%s, %zero) @batch\n  %m = Mul(%n, %two) @windows\n"
     "  %to = Concat(%m, %places, %deep) @to {axis = 0}\n  %r = Reshape(%t, %to) @tokens\n"
     "  %h = MatMul(%r, %w2) @up\n  %g = Relu(%h) @act\n  %y = MatMul(%g, %w3) @down\n",
     "conv1: 8 units of 1 [conv1]\nup: 12 units of 1 [up]\n"
     "down fixed: 'y' is an output of the model\n"},
};
INSTANTIATE_TEST_SUITE_P(Moves, Topology, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.label; });

/// Returns the number of nodes of an operator after pruning conv1 to these channels.
std::size_t CountAfter(const TopologyCase& c, const std::string& op,
                       const std::vector<std::int64_t>& kept) {
  Graph graph = GraphOf(c);
  PrunePlan plan;
  const auto units = static_cast<std::int64_t>(PruneSpace(graph).groups().at(0).units);
  plan.groups["conv1"] = {.units = units, .keep = kept};
  ApplyPrunePlan(plan, graph);
  std::size_t count = 0;
  for (const NodeId id : graph.order()) count += graph.node(id).op == op ? 1 : 0;
  return count;
}

TEST(PruneSlice, StaysASliceWhileDistancesAreEqual) {
  EXPECT_EQ(CountAfter(kCases[0], "Slice", {0, 1, 2, 3}), 2U);
  EXPECT_EQ(CountAfter(kCases[0], "Slice", {0, 1, 2, 3, 5, 7}), 1U);
  EXPECT_EQ(CountAfter(kCases[0], "Gather", {0, 1, 2, 3, 5, 7}), 1U);
}

TEST(PruneSlice, KeepsItsOtherAxesWhenChannelsAreGathered) {
  const std::vector<std::int64_t> kept = {0, 1, 3, 5, 6, 9};
  EXPECT_EQ(CountAfter(kCases[1], "Slice", kept), 1U);
  EXPECT_EQ(CountAfter(kCases[1], "Gather", kept), 1U);
}

/// The second convolution takes every fourth pixel: its share of the work depends on the size.
TEST(PruneOpenSizes, CountMultiplyAddsWhereTheyAreKnown) {
  const Graph graph = testing::Parse(
      "graph main {\n  input %x : f32[n,4,h,w]\n  const %w1 : f32[8,4,1,1] = random 1\n"
      "  const %w2 : f32[5,8,1,1] = random 2\n  %a = Conv(%x, %w1) @conv1\n"
      "  %y = Conv(%a, %w2) @conv2 {strides = [4, 4]}\n  output %y\n}");
  PruneSpace space(graph);
  const std::vector<bool> all(space.units(), true);
  space.CountAt(graph, {{"n", 2}, {"h", 16}, {"w", 8}});
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("conv1"), all), 2.0 * 16 * 8 * 8 * 4);
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("conv2"), all), 2.0 * 4 * 2 * 5 * 8);
  std::vector<bool> half = all;
  std::fill_n(half.begin(), 4, false);
  EXPECT_EQ(KeptMacs(graph, space, graph.FindNode("conv1"), half), 2.0 * 16 * 8 * 4 * 4);
  EXPECT_EQ(space.Sizes(graph.FindValue("a"))->at(1), 8);
  EXPECT_EQ(*space.CountedSizes(graph.FindValue("a")), (Dims{2, 8, 16, 8}));
}

/// Only a run would refuse the indices: here they are read from the file as they are.
TEST(PruneGather, FixesAnAxisThatItsIndicesLeave) {
  for (const std::string pick : {"6", "-7", "9223372036854775807", "-9223372036854775807"}) {
    SCOPED_TRACE(pick);
    const Graph graph = testing::Parse(
        "graph main {\n  input %x : f32[2,4,6,6]\n  const %w1 : f32[6,4,1,1] = random 1\n"
        "  const %i : i64[2] = [1, " +
        pick +
        "]\n  const %w2 : f32[3,2,1,1] = random 2\n  %a = Conv(%x, %w1) @conv1\n"
        "  %g = Gather(%a, %i) @pick {axis = 1}\n  %y = Conv(%g, %w2) @last\n  output %y\n}");
    const std::string wanted = "conv1 fixed: 'pick' (Gather) picks entries that do not exist\n";
    EXPECT_EQ(Describe(graph).substr(0, wanted.size()), wanted);
  }
}

TEST(PruneSqueeze, NamesItsAxesBeforeAnotherHasOneEntry) {
  const Graph graph = testing::Parse(
      "graph main {\n  input %x : f32[2,4,6,6]\n  const %w1 : f32[3,4,1,1] = random 1\n"
      "  const %wy : f32[5,3] = random 2\n  %a = Conv(%x, %w1) @conv1\n"
      "  %p = GlobalAveragePool(%a) @pool\n  %f = Squeeze(%p) @flat\n"
      "  %y = Gemm(%f, %wy) @fc {transB = 1}\n  output %y\n}");
  EXPECT_EQ(Describe(graph), "conv1: 3 units of 1 [conv1]\n" + std::string(kOut));
  PrunePlan plan;
  plan.groups["conv1"] = {.units = 3, .keep = {1}};
  EXPECT_TRUE(testing::MaskedEqualsShrunk(graph, plan, 1));
}

TEST(PruneOpenSizes, NeedNotFitAsOnePixel) {
  const Graph graph = testing::Parse(
      "graph main {\n  input %x : f32[n,4,h,w]\n  const %w1 : f32[8,4,3,3] = random 1\n"
      "  const %wy : f32[5,8] = random 2\n  %a = Conv(%x, %w1) @conv1\n"
      "  %b = MaxPool(%a) @pool {kernel_shape = [2, 2], strides = [2, 2]}\n"
      "  %p = GlobalAveragePool(%b) @mean\n  %f = Flatten(%p) @flat\n"
      "  %y = Gemm(%f, %wy) @fc {transB = 1}\n  output %y\n}");
  EXPECT_EQ(Describe(graph), "conv1: 8 units of 1 [conv1]\n" + std::string(kOut));
}

TEST(PruneSharedList, LeavesTheGivenGraphAsItIs) {
  const Graph graph = GraphOf(kCases[3]);
  const std::size_t before = graph.constants().size();
  (void)PruneSpace(graph);
  EXPECT_EQ(graph.constants().size(), before);
}

}  // namespace
}  // namespace msc
