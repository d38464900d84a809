// Index sets against std::set, dataflow graphs, and problems whose covers are checked by hand.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/partition/problem.h"

namespace msc {
namespace {

using Members = std::vector<std::size_t>;

IndexSet Set(std::size_t universe, const Members& members) {
  return {universe, members};
}

// std::set in the order of IndexSet.
bool Before(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
  for (std::size_t i = 0; i < 1000; ++i) {
    if (a.contains(i) != b.contains(i)) return a.contains(i);
  }
  return false;
}

TEST(IndexSet, DoesAsStdSet) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t universe = 1 + rng.Below(300);
    IndexSet sets[2] = {IndexSet(universe), IndexSet(universe)};
    std::set<std::size_t> models[2];
    for (int step = 0; step < 40; ++step) {
      const std::size_t which = rng.Below(2);
      const std::size_t index = rng.Below(universe);
      if (rng.Below(3) == 0) {
        sets[which] -= IndexSet::Range(universe, index, index + 1);
        models[which].erase(index);
      } else {
        sets[which].Insert(index);
        models[which].insert(index);
      }
    }
    const auto& [a, b] = sets;
    const auto& [x, y] = models;
    EXPECT_EQ(a.Members(), Members(x.begin(), x.end()));
    EXPECT_EQ(a.Count(), x.size());
    EXPECT_EQ(a.First(), x.empty() ? IndexSet::kNone : *x.begin());
    EXPECT_EQ(a.Last(), x.empty() ? IndexSet::kNone : *x.rbegin());
    std::set<std::size_t> either = x;
    either.insert(y.begin(), y.end());
    Members both;
    Members left;
    for (const std::size_t i : x) (y.contains(i) ? both : left).push_back(i);
    EXPECT_EQ((a | b).Members(), Members(either.begin(), either.end()));
    EXPECT_EQ((a & b).Members(), both);
    EXPECT_EQ((a - b).Members(), left);
    EXPECT_EQ(a & b, Set(universe, both));
    EXPECT_EQ((a & b).Hash(), Set(universe, both).Hash());
    EXPECT_EQ(a.Disjoint(b), both.empty());
    EXPECT_EQ(a.SubsetOf(b), left.empty());
    EXPECT_EQ(a < b, Before(x, y));
    EXPECT_EQ(a == b, x == y);
    for (std::size_t from = 0; from < universe; from += 1 + rng.Below(17)) {
      const auto next = x.lower_bound(from);
      EXPECT_EQ(a.Next(from), next == x.end() ? IndexSet::kNone : *next);
      std::size_t outside = from;
      while (x.contains(outside)) ++outside;
      EXPECT_EQ(a.FirstOutside(from), outside);
      EXPECT_EQ(a.Contains(from), x.contains(from));
    }
  }
}

TEST(IndexSet, PrintsRunsShort) {
  EXPECT_EQ(ToString(Set(200, {1, 3, 4, 5, 6, 9, 63, 64, 130})), "{1,3..6,9,63,64,130}");
  EXPECT_EQ(ToString(IndexSet(5)), "{}");
  EXPECT_EQ(ToString(IndexSet::Range(200, 60, 140)), "{60..139}");
}

TEST(Cost, AddsWithInvalidBeforeUnknownBeforeFinite) {
  const Cost known = Cost::Micros(2.5);
  const Cost unknown = Cost::Unknown(1);
  const Cost invalid = Cost::Invalid("no kernel");
  EXPECT_EQ(ToString(known + known), "5 us");
  EXPECT_EQ(ToString(known + unknown), "unknown, at least 3.5 us");
  EXPECT_EQ(ToString(unknown + invalid + known), "invalid: no kernel");
  EXPECT_THROW(static_cast<void>(Cost::Micros(-1)), UserError);
  EXPECT_THROW(static_cast<void>(Cost::Micros(0.0 / 0.0)), UserError);
  EXPECT_EQ(ToPicoseconds(34.5706), 34570600);
}

TEST(DataflowGraph, OrdersAGraphDepthFirstWithoutItsWeights) {
  const Graph graph = ParseGraph(R"(graph main {
    input %x : f32[1,4]
    const %w : f32[4,4] = splat 0.5
    %late = Tanh(%x) @late : f32[1,4]
    %a = MatMul(%x, %w) @a : f32[1,4]
    %b = Relu(%a) @b : f32[1,4]
    %l, %r = Split(%late) @s {axis = 1} : f32[1,2], f32[1,2]
    %c = Concat(%r, %l) @c {axis = 1} : f32[1,4]
    %d = Add(%b, %c) @d : f32[1,4]
    output %d
  })");
  const DataflowGraph flow(graph);
  std::string names;
  for (const FlowNode& node : flow.nodes()) names += node.name + Name(node.kind).data()[0] + " ";
  EXPECT_EQ(names, "aA bE lateE sI cI dB ");
  EXPECT_EQ(flow.producers(4), std::vector<FlowIndex>{3});
  EXPECT_EQ(flow.node(4).inputs.size(), 2U);
  EXPECT_EQ(flow.node(0).inputs.size(), 1U);
  EXPECT_EQ(flow.tensor(flow.node(3).outputs[0]).bytes, 8);
  EXPECT_TRUE(flow.Leaves(5));
  EXPECT_TRUE(IsConvex(flow, Set(6, {0, 1, 5})));
  EXPECT_FALSE(IsConvex(flow, Set(6, {2, 4})));
}

// Section 7.5: of control flow, what a node with nested graphs reads around it counts as read, its
// inside is one node, and what nobody needs comes last.
TEST(DataflowGraph, SeesWhatNestedGraphsRead) {
  const Graph graph = ParseGraph(R"(graph main {
    input %x : f32[4]
    input %c : bool[]
    %a = Relu(%x) @a
    %b = Tanh(%a) @b
    %y = If(%c) @choice {
      else_branch = graph e { captured %a captured %b %n = Add(%a, %b) @inner output %n },
      then_branch = graph t { captured %a %t = Neg(%a) @other output %t }
    }
    %z = Exp(%y) @z
    %u = Abs(%b) @unused
    %v = Neg(%u) @unused_too
    output %z
  })");
  const DataflowGraph flow(graph);
  std::string names;
  for (const FlowNode& node : flow.nodes()) names += node.name + " ";
  EXPECT_EQ(names, "a b choice z unused unused_too ") << "what is inside is no node of its own";
  EXPECT_EQ(flow.node(2).kind, OpKind::kOpaque);
  EXPECT_EQ(flow.producers(2), (std::vector<FlowIndex>{0, 1}));
  EXPECT_EQ(flow.consumers(1), (std::vector<FlowIndex>{2, 4}));
}

// in -> a -> {b, c} -> d -> out, each a tensor of 100 bytes.
DataflowGraph Diamond() {
  std::vector<FlowTensor> tensors;
  for (const char* name : {"in", "a", "b", "c", "d"})
    tensors.push_back({.name = name, .bytes = 100});
  tensors[4].leaves = true;
  return {{{.name = "a", .inputs = {0}, .outputs = {1}},
           {.name = "b", .inputs = {1}, .outputs = {2}},
           {.name = "c", .inputs = {1}, .outputs = {3}},
           {.name = "d", .inputs = {2, 3}, .outputs = {4}}},
          std::move(tensors)};
}

TEST(DataflowGraph, RefusesWhatIsNoGraphInOrder) {
  const auto make = [](std::vector<FlowNode> nodes) {
    return DataflowGraph(std::move(nodes), std::vector<FlowTensor>(2));
  };
  EXPECT_THROW(make({{.name = "a", .inputs = {1}, .outputs = {0}}, {.name = "b", .outputs = {1}}}),
               UserError);
  EXPECT_THROW(make({{.name = "a", .inputs = {0}, .outputs = {0}}}), UserError);
  EXPECT_THROW(make({{.name = "a", .inputs = {7}, .outputs = {0}}}), UserError);
  EXPECT_THROW(make({{.name = "a", .outputs = {0}}, {.name = "b", .outputs = {0}}}), UserError);
}

CoverProblem DiamondProblem() {
  CoverProblem problem{.flow = Diamond(), .labels = {"dense", "nhwc"}};
  const auto add = [&](const Members& nodes, std::string target, double micros,
                       std::vector<TensorLabel> wants = {}, std::vector<TensorLabel> makes = {}) {
    problem.candidates.push_back({.nodes = Set(4, nodes),
                                  .target = std::move(target),
                                  .rule = "test",
                                  .cost = Cost::Micros(micros),
                                  .wants = std::move(wants),
                                  .makes = std::move(makes),
                                  .bytes = 10});
  };
  add({0}, "p", 1);                              // 0
  add({1}, "q", 2, {{1, 1}}, {{2, 1}});          // 1
  add({2}, "q", 3, {{1, 1}}, {{3, 1}});          // 2
  add({3}, "p", 4);                              // 3
  add({0, 1}, "p", 5);                           // 4
  add({2, 3}, "p", 6);                           // 5
  add({0, 3}, "p", 1);                           // 6, not convex
  add({3}, "q", 4, {{2, 1}, {3, 1}}, {{4, 1}});  // 7
  problem.conversions.Set(0, 1, 0.5, 0.001);
  return problem;
}

struct CheckCase {
  std::string label;
  std::vector<std::uint32_t> chosen;
  double micros = 0;
  std::string why = {};
};
void PrintTo(const CheckCase& value, std::ostream* out) {
  *out << value.label;
}
class CheckCovers : public testing::TestWithParam<CheckCase> {};

TEST_P(CheckCovers, AsComputedByHand) {
  CoverProblem problem = DiamondProblem();
  problem.conversions.SetFor(2, 1, 0, 10);
  problem.conversions.SetFor(3, 1, 0, 20);
  CheckProblem(problem);
  const Result<double> checked = CheckCover(problem, GetParam().chosen);
  if (GetParam().why.empty()) {
    ASSERT_TRUE(checked.ok()) << checked.failure().detail;
    EXPECT_DOUBLE_EQ(checked.value(), GetParam().micros);
  } else {
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.failure().detail, GetParam().why);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, CheckCovers,
    testing::Values(CheckCase{"two_regions", {4, 5}, 11},
                    // Tensor "a" is turned once for two readers: 1 + 2 + 3 + 4 + 0.6 + 10 + 20.
                    CheckCase{"one_conversion_for_two", {0, 1, 2, 3}, 40.6},
                    CheckCase{"twice", {4, 5, 0}, 0, "node 'a' is covered twice"},
                    CheckCase{"missing", {0, 1, 2}, 0, "node 'd' is not covered"},
                    CheckCase{"order", {5, 4}, 0, "node 'c' runs before what it reads"},
                    CheckCase{"cycle", {6, 1, 2}, 0, "node 'd' runs before what it reads"},
                    CheckCase{"no_way_back",
                              {0, 1, 2, 7},
                              0,
                              "tensor 'd' cannot be converted from nhwc into dense"}),
    [](const testing::TestParamInfo<CheckCase>& row) { return row.param.label; });

TEST(CoverProblem, OrdersRegionsOrNamesTheCycle) {
  const CoverProblem problem = DiamondProblem();
  const std::vector<std::uint32_t> shuffled = {3, 2, 0, 1};
  EXPECT_EQ(ExecutionOrder(problem, shuffled).value(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  const std::vector<std::uint32_t> cycle = {6, 1, 2};
  EXPECT_EQ(ExecutionOrder(problem, cycle).failure().detail,
            "these regions, or some of them, wait for each other: p {0,3}, q {1}, q {2}");
}

TEST(CoverProblem, KeepsSideConditions) {
  CoverProblem problem = DiamondProblem();
  const std::vector<std::uint32_t> chosen = {4, 5};
  problem.conditions.max_bytes = 19;
  EXPECT_EQ(CheckCover(problem, chosen).failure().detail, "the regions hold 20 bytes");
  problem.conditions.max_bytes = 20;
  problem.conditions.max_regions = {{{"p"}, 1}};
  EXPECT_EQ(CheckCover(problem, chosen).failure().detail, "p has 2 regions");
  problem.conditions.max_regions = {{{"p"}, 2}};
  problem.conditions.pins[1] = {"q"};
  EXPECT_EQ(CheckCover(problem, chosen).failure().detail, "node 'b' is pinned to q");
}

TEST(CoverProblem, RefusesCandidatesOfAnotherShape) {
  CoverProblem problem = DiamondProblem();
  problem.candidates[0].nodes = IndexSet(5);
  EXPECT_THROW(CheckProblem(problem), UserError);
  problem = DiamondProblem();
  problem.candidates[0].wants = {{3, 0}};
  EXPECT_THROW(CheckProblem(problem), UserError);
  problem = DiamondProblem();
  problem.candidates[0].makes = {{1, 2}};
  EXPECT_THROW(CheckProblem(problem), UserError);
}

}  // namespace
}  // namespace msc
