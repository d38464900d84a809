#include "compiler/ir/extract.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"

namespace msc {
namespace {

constexpr const char* kWhole = R"(graph g {
  input %x : f32[2,3]
  const %w : f32[3,3] = random 1
  %a = MatMul(%x, %w) : f32[2,3]
  %b = Relu(%a) : f32[2,3]
  %c = Add(%b, %a) : f32[2,3]
  %d = Neg(%b) : f32[2,3]
  output %c
  output %d
})";

std::string Part(std::vector<std::size_t> positions) {
  const Graph whole = ParseGraph(kWhole);
  std::vector<NodeId> nodes;
  for (const std::size_t position : positions) nodes.push_back(whole.order()[position]);
  const Extracted part = Extract(whole, nodes);
  EXPECT_EQ(part.inputs.size(), part.graph.inputs().size());
  EXPECT_EQ(part.outputs.size(), part.graph.outputs().size());
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    EXPECT_EQ(part.graph.value(part.graph.inputs()[i]).name, whole.value(part.inputs[i]).name);
  }
  for (std::size_t i = 0; i < part.outputs.size(); ++i) {
    EXPECT_EQ(part.graph.value(part.graph.outputs()[i]).name, whole.value(part.outputs[i]).name);
  }
  return Print(part.graph);
}

std::string Printed(const std::string& text) {
  return Print(ParseGraph(text));
}

TEST(Extract, TakesTheConstantsAndReturnsWhatOthersRead) {
  EXPECT_EQ(Part({0, 1}), Printed(R"(graph g {
  input %x : f32[2,3]
  const %w : f32[3,3] = random 1
  %a = MatMul(%x, %w) : f32[2,3]
  %b = Relu(%a) : f32[2,3]
  output %a
  output %b
})"));
}

TEST(Extract, ReadsWhatOthersMadeOnce) {
  EXPECT_EQ(Part({2, 3}), Printed(R"(graph g {
  input %b : f32[2,3]
  input %a : f32[2,3]
  %c = Add(%b, %a) : f32[2,3]
  %d = Neg(%b) : f32[2,3]
  output %c
  output %d
})"));
}

TEST(Extract, KeepsInsideWhatOnlyItReads) {
  EXPECT_EQ(Part({1, 2, 3}), Printed(R"(graph g {
  input %a : f32[2,3]
  %b = Relu(%a) : f32[2,3]
  %c = Add(%b, %a) : f32[2,3]
  %d = Neg(%b) : f32[2,3]
  output %c
  output %d
})"));
}

TEST(Extract, OfAllNodesIsTheGraph) {
  EXPECT_EQ(Part({0, 1, 2, 3}), Printed(kWhole));
}

}  // namespace
}  // namespace msc
