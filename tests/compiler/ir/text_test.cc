#include "compiler/ir/text.h"

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/graph.h"

namespace msc {
namespace {

constexpr const char* kTwoLayers = R"(graph main {
  meta "onnx.opset" = "17"
  input %x : f32[batch,3,?,8]
  const %w : f32[2,3,1,1] = [1, 2, 3, 4, 5, -0.5]
  const %axes : i64[1] = [-1]
  %y = Conv(%x, %w, _) @conv1 {group = 1, pads = [0, 0, 0, 0]} : f32[batch,2,?,8]
  %"odd name", _ = msc.Split(%y, %axes) @"/a b/split" {mode = "half\n", ratio = 0.5} : f16[*], _
  output %"odd name", %y
}
)";

TEST(Text, PrintsWhatItParsed) {
  EXPECT_EQ(Print(ParseGraph(kTwoLayers)), kTwoLayers);
}

TEST(Text, ReadsEveryPartOfANode) {
  const Graph graph = ParseGraph(kTwoLayers);
  const Node& conv = graph.node(graph.FindNode("conv1"));
  EXPECT_TRUE(conv.Is("Conv"));
  ASSERT_EQ(conv.inputs.size(), 3U);
  EXPECT_EQ(conv.inputs[0], graph.FindValue("x"));
  EXPECT_EQ(conv.inputs[2], kNoValue);
  EXPECT_EQ(AttrOr<std::int64_t>(conv, "group", 0), 1);
  const Node& split = graph.node(graph.FindNode("/a b/split"));
  EXPECT_TRUE(split.Is("Split", "msc"));
  EXPECT_EQ(AttrOr<std::string>(split, "mode", ""), "half\n");
  EXPECT_EQ(AttrOr<float>(split, "ratio", 0), 0.5F);
  EXPECT_EQ(graph.outputs().size(), 2U);
}

TEST(Text, DerivesNodeNamesAndCapturesThatAreLeftOut) {
  const Graph graph = ParseGraph(R"(graph main {
    input %c : bool[]
    input %x : f32[2]
    %a = Relu(%x)
    %b = Relu(%a)
    %i = If(%c) {
      else_branch = graph e { captured %x output %x },
      then_branch = graph t { captured %b : f32[?] %n = Neg(%b) output %n }
    }
    output %i
  })");
  EXPECT_NE(graph.FindNode("Relu_1"), kNoNode);
  const Node& branch = graph.node(graph.FindNode("If"));
  EXPECT_EQ(branch.captures, (std::vector<ValueId>{graph.FindValue("x"), graph.FindValue("b")}));
}

TEST(Text, ElidesLargeConstantsForPeopleOnly) {
  Graph graph;
  graph.AddOutput(graph.AddConstant("w", Tensor(DType::kF32, {3, 2})));
  const std::string short_text =
      Print(graph, {.inline_elements = 4, .large = LargeConstants::kElide});
  EXPECT_EQ(short_text, "graph main {\n  const %w : f32[3,2] = ...\n  output %w\n}\n");
  EXPECT_THROW((void)ParseGraph(short_text), UserError);
  EXPECT_TRUE(SameGraph(ParseGraph(Print(graph, {.inline_elements = 4})), graph));
}

}  // namespace
}  // namespace msc
