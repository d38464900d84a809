// Tables of what the rules of TVM's Collage find, and of what they would find without its mistakes:
// sub-graphs and lists of candidates, by number (see tests/support/expression.h). Reference
// sections 7.1 and 7.2; what becomes of a graph when they are rewritten is in
// tests/compiler/pipeline/region_oracle_test.cc.
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/partition/rules/rule.h"
#include "tests/support/expression.h"

namespace msc {
namespace {

using Sets = std::set<std::string>;
using test::GraphNamed;
using test::Members;
using test::Set;

// --- sub-graphs: reference section 7.1 ---

struct SubGraphCase {
  std::string label;
  std::string graph;
  Members inside;
  std::string entry, exit, input, output;
  std::size_t depth;
  SubGraphConfig config;
  std::string why = {};  ///< it is invalid; empty if it is not
  std::vector<Members> nested = {};
};
void PrintTo(const SubGraphCase& value, std::ostream* out) {
  *out << value.label;
}
class SubGraphs : public testing::TestWithParam<SubGraphCase> {};

TEST_P(SubGraphs, LieInTheirGraphAsTheyDo) {
  const SubGraphCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  std::vector<NestedSubGraph> nested;
  for (const Members& members : row.nested) {
    nested.push_back({.nodes = Set(flow, members),
                      .attributes = {{"Composite", std::to_string(nested.size())}}});
  }
  const SubGraph sub_graph(flow, Set(flow, row.inside), nested);
  EXPECT_EQ(ToString(sub_graph.entry), row.entry);
  EXPECT_EQ(ToString(sub_graph.exit), row.exit);
  EXPECT_EQ(ToString(sub_graph.input), row.input);
  EXPECT_EQ(ToString(sub_graph.output), row.output);
  EXPECT_EQ(sub_graph.depth, row.depth);
  EXPECT_EQ(WhyInvalid(flow, sub_graph, row.config), row.why);
}

constexpr SubGraphConfig kOne{.max_exits = 1};
constexpr SubGraphConfig kTwo{.max_exits = 2};
constexpr SubGraphConfig kTaps{.max_exits = 2, .allow_taps = true};

INSTANTIATE_TEST_SUITE_P(
    Section71, SubGraphs,
    testing::Values(
        SubGraphCase{"SG1", "sub", {7}, "{7}", "{7}", "{2,3}", "{8}", 1, kOne},
        SubGraphCase{"SG2_one_exit",
                     "sub",
                     {6, 7},
                     "{6,7}",
                     "{6,7}",
                     "{0..3}",
                     "{8}",
                     1,
                     kOne,
                     "it has 2 exits"},
        SubGraphCase{"SG2_two_exits", "sub", {6, 7}, "{6,7}", "{6,7}", "{0..3}", "{8}", 1, kTwo},
        SubGraphCase{"SG3", "layer", {8, 9, 10}, "{8,9}", "{10}", "{0..2}", "{11}", 3, kOne},
        SubGraphCase{"SG4", "diamond", {5, 6, 7, 9, 10}, "{5}", "{10}", "{0,1}", "{11}", 4, kOne},
        SubGraphCase{
            "SG5_two_exits", "diamond", {5, 6, 7, 9}, "{5}", "{7,9}", "{0,1}", "{10}", 3, kTwo},
        SubGraphCase{"SG5_one_exit",
                     "diamond",
                     {5, 6, 7, 9},
                     "{5}",
                     "{7,9}",
                     "{0,1}",
                     "{10}",
                     3,
                     kOne,
                     "it has 2 exits"},
        SubGraphCase{"SG6_no_taps",
                     "tap",
                     {5, 6},
                     "{5}",
                     "{5,6}",
                     "{0,1}",
                     "{7}",
                     2,
                     kTwo,
                     "node 5 is read inside and outside"},
        SubGraphCase{"SG6_taps", "tap", {5, 6}, "{5}", "{5,6}", "{0,1}", "{7}", 2, kTaps},
        SubGraphCase{"SG7_cycle",
                     "chain of adds",
                     {3, 5},
                     "{3,5}",
                     "{3,5}",
                     "{0,1,4}",
                     "{4,6}",
                     1,
                     kTaps,
                     "a path leaves it and comes back"},
        SubGraphCase{
            "SG7_whole", "chain of adds", {3, 4, 5}, "{3..5}", "{5}", "{0,1}", "{6}", 3, kOne},
        SubGraphCase{"SG8",
                     "labels",
                     {3, 4, 5, 6, 7, 8, 9, 10, 11},
                     "{3}",
                     "{11}",
                     "{0}",
                     "{12}",
                     7,
                     kOne,
                     "",
                     {{4, 5, 6, 7}, {8, 9, 10}}},
        SubGraphCase{"SG9_taps",
                     "nested tap",
                     {4, 5, 6, 7, 8, 9, 10},
                     "{4}",
                     "{5,10}",
                     "{3}",
                     "{11}",
                     5,
                     kTaps,
                     "",
                     {{4, 5, 6, 7}, {8, 9, 10}}},
        SubGraphCase{"SG9_no_taps",
                     "nested tap",
                     {4, 5, 6, 7, 8, 9, 10},
                     "{4}",
                     "{5,10}",
                     "{3}",
                     "{11}",
                     5,
                     kTwo,
                     "node 5 is read inside and outside",
                     {{4, 5, 6, 7}, {8, 9, 10}}},
        SubGraphCase{"nested_overlap",
                     "labels",
                     {3, 4, 5},
                     "{3}",
                     "{4,5}",
                     "{0}",
                     "{6,7}",
                     3,
                     kTaps,
                     "nested sub-graphs overlap",
                     {{3, 4}, {4, 5}}},
        SubGraphCase{"nested_outside",
                     "labels",
                     {3, 4},
                     "{3}",
                     "{4}",
                     "{0}",
                     "{5,6}",
                     2,
                     kOne,
                     "a nested sub-graph reaches out of it",
                     {{4, 5}}},
        SubGraphCase{"too_deep",
                     "labels",
                     {3, 4},
                     "{3}",
                     "{4}",
                     "{0}",
                     "{5,6}",
                     2,
                     {.max_depth = 1},
                     "its depth is 2"}),
    [](const testing::TestParamInfo<SubGraphCase>& row) { return row.param.label; });

TEST(SubGraphs, TakeParametersInTheOrderOfFirstNeedFromTheLastExit) {  // SG2: (c, d, a, b)
  const DataflowGraph flow = GraphNamed("sub");
  EXPECT_EQ(Parameters(flow, SubGraph(flow, Set(flow, {6, 7}))),
            (std::vector<FlowIndex>{2, 3, 0, 1}));
  const DataflowGraph layer = GraphNamed("layer");
  const SubGraph fused(layer, Set(layer, {8, 9, 10}));
  EXPECT_EQ(Parameters(layer, fused), (std::vector<FlowIndex>{0, 1, 2}));
  EXPECT_EQ(fused.kind, OpKind::kAnchor);
  EXPECT_EQ(fused.label, "conv+add+relu");
}

TEST(SubGraphs, JoinWhatIsSaidAboutThemExceptComposites) {
  const DataflowGraph flow = GraphNamed("P4");
  const auto single = [&](std::size_t node, const std::string& key) {
    return WithAttribute(flow, SubGraph(flow, Set(flow, {node})), key, "x");
  };
  EXPECT_EQ(DisjointUnion(flow, single(2, "Primitive"), single(3, "Primitive")).nested.size(), 1U);
  EXPECT_EQ(DisjointUnion(flow, single(2, "Composite"), single(3, "Composite")).nested.size(), 2U);
  EXPECT_TRUE(AreTouching(flow, single(2, "a"), single(3, "a")));
  EXPECT_FALSE(AreTouching(flow, single(3, "a"), single(2, "a")));
  EXPECT_FALSE(AreTouching(flow, single(2, "a"), single(4, "a")));
}

// --- rules: section 7.2 ---

Sets SetsOf(const DataflowGraph& flow, const Rule& rule, RuleMode mode) {
  Sets sets;
  for (const Offered& offered : rule.find(flow, mode)) {
    EXPECT_TRUE(sets.insert(ToString(offered.sub_graph.inside)).second)
        << ToString(offered.sub_graph.inside);
  }
  return sets;
}

PatternPtr Unary(const std::string& op, PatternPtr operand = Any()) {
  return Call(op, {std::move(operand)});
}

const Rule& Joined() {
  static const Rule rule =
      CombineRule(KindRule(), {JoinByKind({{OpKind::kAnchor, OpKind::kBroadcast}})}, 3);
  return rule;
}

struct RuleCase {
  std::string label;
  std::string graph;
  Rule rule;
  Sets compat;
  Sets more = {};  ///< that the complete mode finds besides
};
void PrintTo(const RuleCase& value, std::ostream* out) {
  *out << value.label;
}
class Rules : public testing::TestWithParam<RuleCase> {};

TEST_P(Rules, FindWhatTheyFind) {
  const RuleCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  EXPECT_EQ(SetsOf(flow, row.rule, RuleMode::kCompat), row.compat);
  Sets complete = row.compat;
  complete.insert(row.more.begin(), row.more.end());
  EXPECT_EQ(SetsOf(flow, row.rule, RuleMode::kComplete), complete);
}

const Sets kSingles = {"{6}",  "{8}",  "{9}",  "{11}", "{15}", "{17}",
                       "{18}", "{20}", "{21}", "{23}", "{24}"};
Sets With(Sets sets, const Sets& more) {
  sets.insert(more.begin(), more.end());
  return sets;
}
const Sets kPR8 =
    With(kSingles, {"{6,8}", "{9,11}", "{9,15}", "{9,11,15}", "{9,15,17}", "{9,11,15,17}",
                    "{11,24}", "{15,17}", "{17,18}", "{18,20}", "{20,21}", "{21,23}", "{23,24}",
                    "{15,17,18}", "{17,18,20}", "{18,20,21}", "{20,21,23}", "{21,23,24}"});
const Sets kPR12 = {"{6}", "{8}", "{9}", "{10}", "{12}", "{13}", "{14}", "{16}"};

INSTANTIATE_TEST_SUITE_P(
    Section72, Rules,
    testing::Values(
        RuleCase{"PR1", "S", PatternRule("relu", Unary("relu")), {"{4}", "{5}"}},
        RuleCase{"PR2",
                 "S",
                 PatternRule("p", Unary("relu", Either(Unary("relu"), Unary("abs")))),
                 {"{3,4}", "{4,5}"}},
        RuleCase{"PR3",
                 "S",
                 CompositeRule("composite", PatternRule("relu", Unary("relu"))),
                 {"{4}", "{5}"}},
        RuleCase{"PR4", "S", PrimitiveRule(PatternRule("relu", Unary("relu"))), {"{4}", "{5}"}},
        RuleCase{
            "PR5", "S", PrimitiveRule(PatternRule("relu", Unary("relu")), "E"), {"{4}", "{5}"}},
        RuleCase{"PR6",
                 "S",
                 UnionRule({PatternRule("abs", Unary("abs")), PatternRule("relu", Unary("relu"))}),
                 {"{3}", "{4}", "{5}"}},
        RuleCase{"PR7", "V", KindRule(), {"{4}", "{5}"}},
        RuleCase{"PR8", "ops", Joined(), kPR8, {"{11,23,24}", "{11,21,23,24}"}},
        RuleCase{"PR9", "ops", CombineRule(KindRule(), {JoinConstants()}, 3),
                 With(kSingles, {"{5,6}", "{7,8}"})},
        RuleCase{"PR10",
                 "ops",
                 CombineRule(KindRule(),
                             {JoinByKind({{OpKind::kAnchor, OpKind::kBroadcast},
                                          {OpKind::kBroadcast, OpKind::kReduce},
                                          {OpKind::kInjective, OpKind::kInjective}}),
                              JoinConstants()},
                             3),
                 With(kPR8, {"{5,6}", "{7,8}", "{8,9}", "{8,9,11}", "{8,9,15}", "{5,6,8}", "{5..8}",
                             "{7..9}", "{7..9,11}", "{7..9,15}"}),
                 {"{6..8}", "{8,9,11,15}", "{7..9,11,15}", "{11,23,24}", "{11,21,23,24}"}},
        RuleCase{"PR11",
                 "ops",
                 ValidRule(Joined(), {.max_exits = 1, .max_depth = 2}),
                 With(kSingles, {"{6,8}", "{11,24}", "{15,17}", "{17,18}", "{18,20}", "{20,21}",
                                 "{21,23}", "{23,24}"}),
                 {"{11,23,24}"}},
        RuleCase{"PR12", "tuples", CombineRule(KindRule(), {JoinTupleArguments()}, 3),
                 With(kPR12, {"{10,14..16}"})},
        RuleCase{"PR13", "tuples", CombineRule(KindRule(), {JoinTupleProjections()}, 3),
                 With(kPR12, {"{6,7}", "{6,11}", "{6,7,11}"})},
        RuleCase{"PR14",
                 "tuples",
                 HostRule(),
                 {"{0}", "{1}", "{2}", "{3}", "{4}", "{5}", "{7}", "{11}", "{15}", "{17}"}},
        RuleCase{"FANIN",
                 "fan-in",
                 CombineRule(KindRule(), {JoinAnything()}, 3),
                 {"{4}", "{5}", "{6}", "{4,6}", "{5,6}"},
                 {"{4..6}"}},
        RuleCase{"all_matches",
                 "P4",
                 PatternRule("p", Either(Unary("relu"), Unary("relu", Unary("relu")))),
                 {"{2}", "{3}", "{4}"},
                 {"{2,3}", "{3,4}"}},
        RuleCase{"optional",
                 "S",
                 PatternRule("p", Optionally([](PatternPtr p) { return Unary("relu", p); },
                                             Unary("abs"))),
                 {"{3}", "{3,4}"}},
        RuleCase{"either_way",
                 "tap",
                 PatternRule("p", CallEitherWay("add", Call("conv", {Any(), Any()}), Any())),
                 {"{5,7}"}},
        RuleCase{
            "siblings",
            "products",
            CombineRule(OperatorRule("dense", [](const FlowNode& n) { return n.op == "dense"; }),
                        {JoinSiblings()}, 0),
            {"{4,5}", "{6,7}", "{9,10}", "{4..7}", "{4,5,9,10}", "{6,7,9,10}", "{4..7,9,10}"}},
        RuleCase{"anchors",
                 "products",
                 CombineRule(OperatorRule("conv", [](const FlowNode& n) { return n.op == "conv"; }),
                             {JoinAnchors()}, 0),
                 {"{12,13}", "{14,15}", "{12..15}"}},
        RuleCase{"tuple_of_any",
                 "tuples",
                 PatternRule("p", Call("concat", {TupleOfAny(Unary("expand"))})),
                 {"{10,14..16}"}},
        RuleCase{"tuple_of_two",
                 "tuples",
                 PatternRule("p", TupleOf({Any(), Unary("expand", Unary("transpose"))})),
                 {"{13..15}"}},
        RuleCase{"projection",
                 "tuples",
                 PatternRule("p", Unary("reshape", Projection(Unary("split")))),
                 {"{6..8}", "{6,11,12}"}},
        RuleCase{
            "constant", "ops", PatternRule("p", Call("dense", {Any(), AnyConstant()})), {"{5,6}"}},
        RuleCase{"user", "P4", UserRule({{"2", "3"}, {"4"}}), {"{2,3}", "{4}"}}),
    [](const testing::TestParamInfo<RuleCase>& row) { return row.param.label; });

TEST(Rules, SayWhatBecomesAFunction) {  // PR3 to PR5
  const DataflowGraph flow = GraphNamed("S");
  const Rule relu = PatternRule("relu", Unary("relu"));
  const auto attributes = [&](const Rule& rule) {
    std::string text;
    const std::vector<Offered> found = rule.find(flow, RuleMode::kComplete);
    for (const NestedSubGraph& part : found.front().sub_graph.nested) {
      for (const auto& [key, value] : part.attributes) text += key + "=" + value + " ";
    }
    return text;
  };
  EXPECT_EQ(attributes(CompositeRule("composite", relu)), "Composite=composite ");
  EXPECT_EQ(attributes(PrimitiveRule(relu)), "Primitive=1 ");
  EXPECT_EQ(attributes(PrimitiveRule(relu, "E")), "Compiler=E Primitive=1 ");
  EXPECT_EQ(attributes(PrimitiveRule(CompositeRule("c", relu), "E")),
            "Composite=c Compiler=E Primitive=1 ");
}

TEST(Rules, NameWhatAUserGotWrong) {
  EXPECT_THROW(static_cast<void>(UserRule({{"nope"}}).find(GraphNamed("P4"), RuleMode::kComplete)),
               UserError);
}

}  // namespace
}  // namespace msc
