#include "compiler/ir/graph.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/sanitizer.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"

namespace msc {
namespace {

template <class Action>
std::string UserErrorOf(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

Node MakeNode(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

constexpr const char* kChain = R"(graph main {
  input %x : f32[2]
  const %w : f32[2] = [1, 2]
  %a = Relu(%x) @relu
  %b = Add(%a, %w) @add
  %c = Neg(%b) @neg
  output %c
})";

/// If reads %b and %w inside its branches, one of them two graphs deep.
constexpr const char* kBranch = R"(graph main {
  input %p : bool[]
  input %x : f32[2]
  %b = Relu(%x) @relu
  %d = Neg(%x) @neg
  %i = If(%p) @if {
    then_branch = graph t { captured %b %n = Abs(%b) output %n },
    else_branch = graph e {
      captured %b
      %d = Abs(%b)
      %m = Loop(%b) {body = graph l { captured %b %k = Exp(%b) output %k }}
      output %m, %d
    }
  }
  output %i
})";

TEST(Node, HasNoInputThatIsLeftOutOrBeyondTheLast) {
  const Node node = MakeNode("Clip", {ValueId{3}, kNoValue}, {});
  EXPECT_EQ(node.Input(0), ValueId{3});
  EXPECT_TRUE(node.HasInput(0));
  EXPECT_FALSE(node.HasInput(1));
  EXPECT_EQ(node.Input(2), kNoValue);
  EXPECT_FALSE(node.HasInput(2));
}

TEST(Graph, BuildsManyNodesInLittleTime) {
  // Many nodes without names, each reading the one before and a shared constant. Quadratic steps
  // would take minutes.
  constexpr int kNodes = kSanitized ? 10000 : 50000;
  Graph graph;
  ValueId last = graph.AddInput("x", {});
  const ValueId shared = graph.AddConstant("w", Tensor(DType::kF32, {1}));
  for (int i = 0; i < kNodes; ++i) {
    const ValueId out = graph.AddValue(graph.FreeValueName("v"), {});
    graph.AddNode(MakeNode("Add", {last, shared}, {out}));
    last = out;
  }
  graph.AddOutput(last);
  EXPECT_EQ(graph.node(graph.order().back()).name, "Add_" + std::to_string(kNodes - 1));
  const std::vector<NodeId> order = graph.order();
  for (std::size_t i = 0; i < order.size(); i += 10) {
    const NodeId id = order[i];
    const ValueId out = graph.AddValue(graph.FreeValueName("u"), {});
    graph.AddNode(MakeNode("Relu", {graph.node(id).inputs[0]}, {out}), id);
    graph.SetInput(id, 0, out);
  }
  const ValueId other = graph.AddConstant("w2", Tensor(DType::kF32, {1}));
  graph.ReplaceUses(shared, other);
  EXPECT_EQ(graph.uses(other).size(), static_cast<std::size_t>(kNodes));
  Verify(graph);
}

TEST(Graph, StaysInOrderWhenNodesAreInsertedAtOnePlace) {
  Graph graph = ParseGraph(kChain);
  const NodeId neg = graph.FindNode("neg");
  ValueId last = graph.FindValue("b");
  for (int i = 0; i < 200; ++i) {  // more often than a gap between ranks can be halved
    const ValueId out = graph.AddValue(graph.FreeValueName("v"), {});
    graph.AddNode(MakeNode("Abs", {last}, {out}), neg);
    last = out;
  }
  graph.SetInput(neg, 0, last);
  Verify(graph);
  EXPECT_EQ(graph.order().back(), neg);
}

TEST(Graph, RefusesToReadWhatIsNotYetProduced) {
  Graph graph = ParseGraph(kChain);
  EXPECT_EQ(UserErrorOf([&] { graph.SetInput(graph.FindNode("relu"), 0, graph.FindValue("b")); }),
            "node 'relu' reads 'b' before it is produced");
  EXPECT_EQ(UserErrorOf([&] { graph.SetInput(graph.FindNode("relu"), 0, graph.FindValue("a")); }),
            "node 'relu' reads 'a' before it is produced");
  const ValueId out = graph.AddValue("out", {});
  EXPECT_EQ(UserErrorOf([&] { graph.AddNode(MakeNode("Abs", {out}, {out})); }),
            "node 'Abs' reads 'out' before it is produced");
  EXPECT_EQ(UserErrorOf([&] {
              graph.AddNode(MakeNode("Abs", {}, {out, out}));
            }),
            "value 'out' is produced twice");
}

TEST(Graph, KeepsEverythingWhenAReplacementIsRefused) {
  Graph graph = ParseGraph(kChain);
  const std::string before = Print(graph);
  EXPECT_THROW(graph.ReplaceUses(graph.FindValue("w"), graph.FindValue("c")), UserError);
  EXPECT_EQ(Print(graph), before);
}

TEST(Graph, RefusesToRemoveWhatIsRead) {
  Graph graph = ParseGraph(kChain);
  EXPECT_EQ(UserErrorOf([&] { graph.RemoveNode(graph.FindNode("add")); }),
            "node 'add' cannot be removed: 'b' is still read");
  graph.ReplaceUses(graph.FindValue("b"), graph.FindValue("x"));
  const NodeId add = graph.FindNode("add");
  EXPECT_TRUE(graph.IsLive(add));
  graph.RemoveNode(add);
  EXPECT_FALSE(graph.IsLive(add));
  EXPECT_FALSE(graph.IsLive(kNoNode));
  graph.RemoveNode(graph.FindNode("relu"));
  graph.RemoveConstant(graph.FindValue("w"));
  Verify(graph);
  EXPECT_EQ(Print(graph),
            "graph main {\n  input %x : f32[2]\n  %c = Neg(%x) @neg\n  output %c\n}\n");
}

TEST(Graph, NestedGraphsFollowARenamedValue) {
  Graph graph = ParseGraph(kBranch);
  const Graph untouched = graph;
  graph.RenameValue(graph.FindValue("b"), "fresh");
  Verify(graph);
  EXPECT_EQ(Print(graph).find("%b"), std::string::npos);
  EXPECT_TRUE(SameGraph(untouched, ParseGraph(kBranch)));
}

TEST(Graph, NestedGraphsFollowAReplacedValue) {
  Graph graph = ParseGraph(kBranch);
  // One branch has a %d of its own, which must not be taken for the outer one.
  graph.ReplaceUses(graph.FindValue("b"), graph.FindValue("d"));
  Verify(graph);
  EXPECT_TRUE(graph.uses(graph.FindValue("b")).empty());
  EXPECT_EQ(Print(graph).find("%b)"), std::string::npos);
  EXPECT_NE(Print(graph).find("%d_1 = Abs(%d)"), std::string::npos);
}

TEST(Graph, HashIgnoresNameMetadataAndOrderOfConstants) {
  Graph graph = ParseGraph(
      "graph a { meta \"k\" = \"v\" const %v : f32[1] = [1] const %w : f32[1] = [2] "
      "%y = Add(%v, %w) output %y }");
  const Graph other = ParseGraph(
      "graph b { const %w : f32[1] = [2] const %v : f32[1] = [1] %y = Add(%v, %w) output %y }");
  EXPECT_EQ(GraphHash(graph), GraphHash(other));
  graph.SetConstant(graph.FindValue("w"), graph.constant(graph.FindValue("v")));
  EXPECT_NE(GraphHash(graph), GraphHash(other));
}

TEST(Verify, RefusesWhatMutatorsCannotSee) {
  Graph pending;
  (void)pending.AddValue("v", {});
  EXPECT_EQ(UserErrorOf([&] { Verify(pending); }), "graph 'main': value 'v' has no producer");

  Graph mistyped = ParseGraph(kChain);
  mistyped.SetType(mistyped.FindValue("w"), {.dtype = DType::kI8, .shape = Shape{2}});
  EXPECT_EQ(UserErrorOf([&] { Verify(mistyped); }),
            "graph 'main': constant 'w' has type i8[2] but its tensor is f32[2]");

  Graph empty_attr = ParseGraph(kChain);
  empty_attr.SetAttr(empty_attr.FindNode("neg"), "body", GraphPtr());
  EXPECT_EQ(UserErrorOf([&] { Verify(empty_attr); }),
            "graph 'main': node 'neg' (Neg): attribute 'body' is empty");

  Graph unlisted = ParseGraph(kChain);
  unlisted.SetAttr(unlisted.FindNode("neg"), "body",
                   std::make_shared<const Graph>(ParseGraph("graph g { captured %a }")));
  EXPECT_EQ(UserErrorOf([&] { Verify(unlisted); }),
            "graph 'main': node 'neg' (Neg): its graph 'g' captures 'a', which the node does not "
            "list");
}

TEST(Verify, RefusesDeepNesting) {
  auto inner = std::make_shared<const Graph>("g");
  for (int depth = 0; depth < 9; ++depth) {
    auto outer = std::make_shared<Graph>("g");
    Node loop = MakeNode("Loop", {}, {});
    loop.attrs.emplace("body", GraphPtr(inner));
    outer->AddNode(std::move(loop));
    inner = outer;
    if (depth == 7) {
      EXPECT_NO_THROW(Verify(*inner));
    }
  }
  EXPECT_EQ(UserErrorOf([&] { Verify(*inner); }),
            "graph 'g': node 'Loop' (Loop): graphs are nested deeper than 8 levels");
}

}  // namespace
}  // namespace msc
