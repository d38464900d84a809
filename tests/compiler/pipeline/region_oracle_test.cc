// What TVM's Collage makes of an expression when a sub-graph of it becomes a function (reference
// sections 7.1, SG1 to SG9, and 7.2, PR3), as what becomes of a graph here when a sub-graph becomes
// a region: what a rule offers is cut out, lowered by itself and put back into the graph.
//
// What cannot be the same, as graphs here have no functions and no tuples:
// - A function is a region. Its parameters are what the region reads from outside, in the order in
//   which its nodes first need them; the original counts from the last exit backwards (SG2: c, d,
//   a, b).
// - A tuple of results, and ".0" and ".1" of it, are values of their own names.
// - Functions in a function (SG8, SG9: Composite a and b) are regions of the region that was cut
//   out: the second level of the same two steps. Regions of one plan are not in each other.
// - A plan may name regions of any number of exits and with taps. Left out are the rows whose
// limits
//   do not allow them, so that the expression stays unchanged (SG2, SG5, SG6, SG9).
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/extract.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/op.h"
#include "compiler/partition/rules/rule.h"
#include "compiler/pipeline/compile.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

using Names = std::vector<std::string>;

/// Who computes what became a function, and who the rest.
constexpr const char* kFunction = "reference:threads=2";
constexpr const char* kRest = "reference";

constexpr const char* kSum = R"(
  %p = Add(%a, %b) @add1
  %q = Add(%c, %d) @add2
  %y = Sub(%p, %q) @sub
  output %y)";
constexpr const char* kLayer = R"(
  %m = MatMul(%a, %b) @conv
  %s = Add(%m, %c) @add
  %r = Relu(%s) @relu
  %y = Sub(%r, %d) @sub
  output %y)";
constexpr const char* kDiamond = R"(
  %m = MatMul(%a, %b) @conv
  %r = Relu(%m) @relu1
  %s = Relu(%r) @relu2
  %l = LeakyRelu(%m) @leaky
  %y = Add(%s, %l) @add
  output %y)";
constexpr const char* kTap = R"(
  %m = MatMul(%a, %b) @conv
  %r = Relu(%m) @relu
  %y = Add(%r, %m) @add
  output %y)";
constexpr const char* kAdds = R"(
  %p = Add(%a, %b) @add1
  %q = Add(%p, %b) @add2
  %y = Add(%q, %b) @add3
  output %y)";
constexpr const char* kLabels = R"(
  %v3 = Relu(%a) @n3
  %v4 = Relu(%v3) @n4
  %v5 = Relu(%v4) @n5
  %v6 = Relu(%v4) @n6
  %v7 = Add(%v5, %v6) @n7
  %v8 = Relu(%v7) @n8
  %v9 = Relu(%v7) @n9
  %v10 = Add(%v8, %v9) @n10
  %y = Relu(%v10) @n11
  output %y)";
constexpr const char* kNestedTap = R"(
  %v3 = Relu(%a) @n3
  %v4 = Relu(%v3) @n4
  %v5 = Relu(%v4) @n5
  %v6 = Relu(%v4) @n6
  %v7 = Add(%v5, %v6) @n7
  %v8 = Relu(%v7) @n8
  %v9 = Relu(%v7) @n9
  %v10 = Add(%v8, %v9) @n10
  %y = Add(%v5, %v10) @n11
  output %y)";
constexpr const char* kUnary = R"(
  %v3 = Abs(%a) @abs
  %v4 = Relu(%v3) @relu4
  %y = Relu(%v4) @relu5
  output %y)";

/// `body` with the inputs a, b, c and d, as far as it reads them.
Graph GraphOf(const std::string& body) {
  std::string text = "graph g {";
  for (const std::string name : {"%a", "%b", "%c", "%d"}) {
    if (body.find(name) != std::string::npos) text += "\n  input " + name + " : f32[4,4]";
  }
  Graph graph = ParseGraph(text + body + "\n}");
  InferTypes(graph);
  return graph;
}

/// The regions in their order: "fn add2(c, d) -> q" of one that became a function, "sub(p, q) -> y"
/// of the rest. "unchanged" where there are none.
std::string Calls(const Lowered& lowered) {
  if (lowered.regions.empty()) return "unchanged";
  const Graph& graph = lowered.graph;
  std::string text;
  for (const PartitionRegion& region : lowered.regions) {
    const std::set<std::string> inside(region.nodes.begin(), region.nodes.end());
    const auto is_inside = [&](NodeId id) {
      return id != kNoNode && inside.contains(graph.node(id).name);
    };
    std::string nodes;
    Names reads;
    Names makes;
    const auto add = [&](ValueId value, Names& list) {
      const std::string& name = graph.value(value).name;
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    };
    for (const std::string& name : region.nodes) {
      nodes += (nodes.empty() ? "" : "+") + name;
      const Node& node = graph.node(graph.FindNode(name));
      for (const ValueId input : node.inputs) {
        if (!is_inside(graph.producer(input))) add(input, reads);
      }
      for (const ValueId output : node.outputs) {
        const std::vector<Use>& uses = graph.uses(output);
        const bool read = std::any_of(uses.begin(), uses.end(),
                                      [&](const Use& use) { return !is_inside(use.node); });
        if (read || graph.IsOutput(output)) add(output, makes);
      }
    }
    const auto joined = [](const Names& names) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
      return list;
    };
    text += (text.empty() ? "" : " | ") + std::string(region.target == kFunction ? "fn " : "") +
            nodes + "(" + joined(reads) + ") -> " + joined(makes);
  }
  return text;
}

/// `graph` with a region for all that `rule` offers of it: as Calls, after checking that it
/// computes what it did.
std::string Rewritten(const Graph& graph, const Rule& rule) {
  const DataflowGraph flow(graph);
  Strategy strategy;
  strategy.target = kRest;
  for (const SubGraph& sub_graph : rule(flow)) {
    PartitionRegion region{.nodes = {}, .target = kFunction};
    sub_graph.inside.ForEach(
        [&](std::size_t node) { region.nodes.push_back(flow.node(node).name); });
    strategy.partition.push_back(std::move(region));
  }
  const TargetRegistry targets = Targets();
  const Lowered lowered = LowerFor(graph, strategy, targets, {});
  Verify(lowered.graph);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    inputs.push_back(RandomTensor({4, 4}, i + 1));
  }
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  Result<Executable> built = BuildExecutable(lowered, targets, {});
  EXPECT_TRUE(built.ok()) << built.failure().detail;
  if (!built.ok()) return built.failure().detail;
  const std::vector<Tensor> got = built.value().Run(inputs);
  EXPECT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got.at(i), wanted[i]);
  return Calls(lowered);
}

struct RewriteCase {
  std::string label;
  std::string body;
  Names inside;
  std::string calls;
  std::vector<Names> nested = {};
  std::string nested_calls = {};
};
void PrintTo(const RewriteCase& row, std::ostream* out) {
  *out << row.label;
}
class Rewriting : public testing::TestWithParam<RewriteCase> {};

TEST_P(Rewriting, MakesARegionOfWhatWouldBeAFunction) {
  const RewriteCase& row = GetParam();
  const Graph graph = GraphOf(row.body);
  EXPECT_EQ(Rewritten(graph, UserRule({row.inside})), row.calls);
  if (row.nested.empty()) return;
  std::vector<NodeId> ids;
  for (const std::string& name : row.inside) ids.push_back(graph.FindNode(name));
  EXPECT_EQ(Rewritten(Extract(graph, ids).graph, UserRule(row.nested)), row.nested_calls);
}

INSTANTIATE_TEST_SUITE_P(
    Section71, Rewriting,
    testing::Values(
        RewriteCase{"SG1", kSum, {"add2"}, "add1(a, b) -> p | fn add2(c, d) -> q | sub(p, q) -> y"},
        RewriteCase{
            "SG2", kSum, {"add1", "add2"}, "fn add1+add2(a, b, c, d) -> p, q | sub(p, q) -> y"},
        RewriteCase{"SG3",
                    kLayer,
                    {"conv", "add", "relu"},
                    "fn conv+add+relu(a, b, c) -> r | sub(r, d) -> y"},
        RewriteCase{"SG4",
                    kDiamond,
                    {"conv", "relu1", "relu2", "leaky", "add"},
                    "fn conv+relu1+relu2+leaky+add(a, b) -> y"},
        RewriteCase{"SG5",
                    kDiamond,
                    {"conv", "relu1", "relu2", "leaky"},
                    "fn conv+relu1+relu2+leaky(a, b) -> s, l | add(s, l) -> y"},
        RewriteCase{"SG6", kTap, {"conv", "relu"}, "fn conv+relu(a, b) -> m, r | add(r, m) -> y"},
        RewriteCase{"SG7_whole", kAdds, {"add1", "add2", "add3"}, "fn add1+add2+add3(a, b) -> y"},
        RewriteCase{"SG8",
                    kLabels,
                    {"n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"},
                    "fn n3+n4+n5+n6+n7+n8+n9+n10+n11(a) -> y",
                    {{"n4", "n5", "n6", "n7"}, {"n8", "n9", "n10"}},
                    "n3(a) -> v3 | fn n4+n5+n6+n7(v3) -> v7 | fn n8+n9+n10(v7) -> v10 | "
                    "n11(v10) -> y"},
        RewriteCase{"SG9",
                    kNestedTap,
                    {"n4", "n5", "n6", "n7", "n8", "n9", "n10"},
                    "n3(a) -> v3 | fn n4+n5+n6+n7+n8+n9+n10(v3) -> v5, v10 | n11(v5, v10) -> y",
                    {{"n4", "n5", "n6", "n7"}, {"n8", "n9", "n10"}},
                    "fn n4+n5+n6+n7(v3) -> v5, v7 | fn n8+n9+n10(v7) -> v10"}),
    [](const testing::TestParamInfo<RewriteCase>& row) { return row.param.label; });

TEST(Rewriting, RefusesAPlanWithACycleThatNoRuleWouldOffer) {  // SG7, as a plan by hand
  Strategy strategy;
  strategy.target = kRest;
  strategy.partition = {{.nodes = {"add1", "add3"}, .target = kFunction}};
  EXPECT_EQ(Refusal([&] { (void)LowerFor(GraphOf(kAdds), strategy, Targets(), {}); }),
            "regions of the partition need each other's results in a circle: region 0 (from 'add1' "
            "on), which needs node 'add2', which needs region 0 (from 'add1' on)");
}

TEST(Rewriting, MakesARegionOfEachMatch) {  // PR3
  const Rule rule = PatternRule(Call("Relu", {Any()}));
  EXPECT_EQ(Rewritten(GraphOf(kUnary), rule),
            "abs(a) -> v3 | fn relu4(v3) -> v4 | fn relu5(v4) -> y");
}

}  // namespace
}  // namespace msc
