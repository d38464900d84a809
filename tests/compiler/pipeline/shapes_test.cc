#include "compiler/pipeline/shapes.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

TEST(SetInputShapes, BindsSymbolsEverywhereAndInfers) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[n,3,h,?]
    input %z : f32[n,4]
    %r = Relu(%x)
    %s = Relu(%z)
    output %r
    output %s
  })");
  SetInputShapes(graph, std::vector<std::string>{"x=2x3x8x9"});
  EXPECT_EQ(ToString(graph.type(graph.FindValue("r"))), "f32[2,3,8,9]");
  EXPECT_EQ(ToString(graph.type(graph.FindValue("s"))), "f32[2,4]");
}

TEST(SetInputShapes, NeedsNoNameForTheOnlyInput) {
  Graph graph = Parse("graph main {\n input %x : f32[n,3]\n %y = Relu(%x)\n output %y\n}");
  SetInputShapes(graph, std::vector<std::string>{"5x3"});
  EXPECT_EQ(ToString(graph.type(graph.FindValue("y"))), "f32[5,3]");
}

TEST(SetInputShapes, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x=2x3", "does not fit the model's f32[n,3,h,?]"},
      {"x=2x4x8x8", "does not fit the model's f32[n,3,h,?]"},
      {"w=2x3", "the model has no such input; it has: x, z"},
      {"2x3", "the model has 2 inputs: write NAME=SIZES"},
      {"x=2x3x0x8", "write NAME=1x3x224x224"},
      {"x=2x3xx8", "write NAME=1x3x224x224"},
      {"x=2x3x8x", "write NAME=1x3x224x224"},
      {"x=99999999999999999999x3x8x8", "write NAME=1x3x224x224"},
      {"x=-1x3x8x8", "write NAME=1x3x224x224"},
  };
  for (const auto& [text, wanted] : cases) {
    Graph graph = Parse(R"(graph main {
      input %x : f32[n,3,h,?]
      input %z : f32[n,4]
      %r = Relu(%x)
      output %r
    })");
    try {
      SetInputShapes(graph, std::vector<std::string>{text});
      ADD_FAILURE() << text << " is taken";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("shape '" + text + "': "), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    }
  }
}

TEST(SetInputShapes, RefusesTwoSizesOfOneSymbol) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[n,3]
    input %z : f32[n,4]
    %r = Relu(%x)
    output %r
  })");
  EXPECT_THROW(SetInputShapes(graph, std::vector<std::string>{"x=2x3", "z=3x4"}), UserError);
}

}  // namespace
}  // namespace msc
