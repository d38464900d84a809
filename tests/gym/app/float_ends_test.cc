#include "gym/app/float_ends.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/support/pipeline.h"

namespace msc::gym {
namespace {

using Names = std::vector<std::string>;
using Kept = std::set<std::string>;

TEST(FindEnds, FindsLayersThatNoLayerPrecedesOrFollows) {
  Graph graph = ParseGraph(R"(graph net {
  input %x : f32[n,4]
  const %w1 : f32[4,30] = random 1
  const %w2 : f32[30,30] = random 2
  const %w3 : f32[30,2] = random 3
  const %w4 : f32[30,2] = random 4
  const %w5 : f32[4,30] = random 5
  %m = Relu(%x) @before
  %a1 = MatMul(%m, %w1) @one
  %a5 = MatMul(%m, %w5) @beside
  %s = Add(%a1, %a5) @sum
  %a2 = MatMul(%s, %w2) @middle
  %r = Relu(%a2) @relu
  %a3 = MatMul(%r, %w3) @left
  %y = MatMul(%r, %w4) @right
  %z = Softmax(%a3) @end {axis = -1}
  output %y
  output %z
})");
  InferTypes(graph);
  const BothEnds ends = FindEnds(graph, std::vector<Tensor>{RandomTensor({2, 4}, 1)});
  EXPECT_EQ(ends.first.names, (Names{"one", "beside"}));
  EXPECT_EQ(ends.last.names, (Names{"left", "right"}));
  EXPECT_DOUBLE_EQ(ends.first.share, 240.0 / 1260);
  EXPECT_DOUBLE_EQ(ends.last.share, 120.0 / 1260);
}

/// Returns what is kept of two ends with these shares, whose layers lose so much; others lose 1.
Kept Choose(double first_share, double last_share, double first, double last) {
  return ChooseFloatEnds(
      {.first = {{"a"}, first_share}, .last = {{"z"}, last_share}}, [&](const Kept& kept) {
        return 1 + (kept.contains("a") ? 0 : first) + (kept.contains("z") ? 0 : last);
      });
}

TEST(ChooseFloatEnds, KeepsCheapEndsThatLoseMuch) {
  EXPECT_EQ(Choose(0.01, 0.01, 2, 2), (Kept{"a", "z"}));
  EXPECT_EQ(Choose(0.01, 0.01, 0.1, 2), Kept{"z"});
  EXPECT_EQ(Choose(0.01, 0.01, 2, 0.1), Kept{"a"});
  EXPECT_EQ(Choose(0.01, 0.01, 0.1, 0.1), Kept{});
}

TEST(ChooseFloatEnds, QuantizesEndsThatDoMuchOfTheWork) {
  EXPECT_EQ(Choose(0.03, 0.01, 2, 2), Kept{"z"});
  EXPECT_EQ(Choose(0.03, 0.5, 9, 9), Kept{});
}

}  // namespace
}  // namespace msc::gym
