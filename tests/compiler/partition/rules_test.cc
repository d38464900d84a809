// Tables of what the rules of TVM's Collage find, and of what they would find without its mistakes:
// sub-graphs and lists of candidates, by number (see tests/support/expression.h). Rules and unions
// of expressions that graphs here do not have are in tests/support/collage_rules.h. Reference
// sections 7.1 and 7.2; what becomes of a graph when they are rewritten is in
// tests/compiler/pipeline/region_oracle_test.cc.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/partition/rules/combine.h"
#include "compiler/partition/rules/rule.h"
#include "tests/support/collage_rules.h"
#include "tests/support/expression.h"

namespace msc {
namespace {

using Sets = std::set<std::string>;
using test::GraphNamed;
using test::HostRule;
using test::JoinConstants;
using test::JoinKinds;
using test::Joins;
using test::JoinTupleArguments;
using test::JoinTupleProjections;
using test::KindRule;
using test::Members;
using test::Set;
using test::ValidRule;

// --- sub-graphs: reference section 7.1 ---

struct SubGraphCase {
  std::string label;
  std::string graph;
  Members inside;
  std::string entry, exit, input, output;
  std::size_t depth;
  bool convex = true;
};
void PrintTo(const SubGraphCase& value, std::ostream* out) {
  *out << value.label;
}
class SubGraphs : public testing::TestWithParam<SubGraphCase> {};

TEST_P(SubGraphs, LieInTheirGraphAsTheyDo) {
  const SubGraphCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  const SubGraph sub_graph(flow, Set(flow, row.inside));
  EXPECT_EQ(ToString(sub_graph.entry), row.entry);
  EXPECT_EQ(ToString(sub_graph.exit), row.exit);
  EXPECT_EQ(ToString(sub_graph.input), row.input);
  EXPECT_EQ(ToString(sub_graph.output), row.output);
  EXPECT_EQ(sub_graph.depth, row.depth);
  EXPECT_EQ(IsConvex(flow, sub_graph.inside), row.convex);
}

INSTANTIATE_TEST_SUITE_P(
    Section71, SubGraphs,
    testing::Values(
        SubGraphCase{"SG1", "sub", {7}, "{7}", "{7}", "{2,3}", "{8}", 1},
        SubGraphCase{"SG2", "sub", {6, 7}, "{6,7}", "{6,7}", "{0..3}", "{8}", 1},
        SubGraphCase{"SG3", "layer", {8, 9, 10}, "{8,9}", "{10}", "{0..2}", "{11}", 3},
        SubGraphCase{"SG4", "diamond", {5, 6, 7, 9, 10}, "{5}", "{10}", "{0,1}", "{11}", 4},
        SubGraphCase{"SG5", "diamond", {5, 6, 7, 9}, "{5}", "{7,9}", "{0,1}", "{10}", 3},
        SubGraphCase{"SG6", "tap", {5, 6}, "{5}", "{5,6}", "{0,1}", "{7}", 2},
        SubGraphCase{
            "SG7_cycle", "chain of adds", {3, 5}, "{3,5}", "{3,5}", "{0,1,4}", "{4,6}", 1, false},
        SubGraphCase{"SG7_whole", "chain of adds", {3, 4, 5}, "{3..5}", "{5}", "{0,1}", "{6}", 3},
        SubGraphCase{
            "SG8", "labels", {3, 4, 5, 6, 7, 8, 9, 10, 11}, "{3}", "{11}", "{0}", "{12}", 7},
        SubGraphCase{
            "SG9", "nested tap", {4, 5, 6, 7, 8, 9, 10}, "{4}", "{5,10}", "{3}", "{11}", 5}),
    [](const testing::TestParamInfo<SubGraphCase>& row) { return row.param.label; });

TEST(SubGraphs, AreOfTheKindOfTheirNodeThatIsHardestToFuse) {
  const DataflowGraph layer = GraphNamed("layer");
  EXPECT_EQ(SubGraph(layer, Set(layer, {8, 9, 10})).kind, OpKind::kAnchor);
  EXPECT_EQ(SubGraph(layer, Set(layer, {9, 10})).kind, OpKind::kBroadcast);
}

TEST(SubGraphs, TouchOnlyTheOnesThatReadFromThem) {
  const DataflowGraph flow = GraphNamed("P4");
  const auto touch = [&](std::size_t up, std::size_t down) {
    return AreTouching(flow, {flow, Set(flow, {up})}, {flow, Set(flow, {down})});
  };
  EXPECT_TRUE(touch(2, 3));
  EXPECT_FALSE(touch(3, 2));
  EXPECT_FALSE(touch(2, 4));
}

// --- rules: section 7.2 ---

Sets SetsOf(const DataflowGraph& flow, const Rule& rule) {
  Sets sets;
  for (const SubGraph& sub_graph : rule(flow)) {
    EXPECT_TRUE(sets.insert(ToString(sub_graph.inside)).second) << ToString(sub_graph.inside);
  }
  return sets;
}

PatternPtr Unary(const std::string& op, PatternPtr operand = Any()) {
  return Call(op, {std::move(operand)});
}

const std::vector<std::pair<OpKind, OpKind>> kAnchorsTakeBroadcasts = {
    {OpKind::kAnchor, OpKind::kBroadcast}};
const std::vector<std::pair<OpKind, OpKind>> kLikeTvm = {{OpKind::kAnchor, OpKind::kBroadcast},
                                                         {OpKind::kBroadcast, OpKind::kReduce},
                                                         {OpKind::kInjective, OpKind::kInjective}};

Rule Singles(std::vector<Combiner> combiners) {
  return CombineRule(KindRule(), std::move(combiners), 3);
}

struct RuleCase {
  std::string label;
  std::string graph;
  std::function<Rule(Joins joins)> rule;
  Sets original;   ///< what the original finds
  Sets more = {};  ///< what is found besides where all touching sub-graphs are joined
};
void PrintTo(const RuleCase& value, std::ostream* out) {
  *out << value.label;
}
class Rules : public testing::TestWithParam<RuleCase> {};

TEST_P(Rules, FindWhatTheyFind) {
  const RuleCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  EXPECT_EQ(SetsOf(flow, row.rule(Joins::kAsCollage)), row.original);
  Sets all = row.original;
  all.insert(row.more.begin(), row.more.end());
  EXPECT_EQ(SetsOf(flow, row.rule(Joins::kAll)), all);
}

/// A rule that joins nothing by kind is the same for both.
std::function<Rule(Joins joins)> Same(const Rule& rule) {
  return [rule](Joins /*joins*/) { return rule; };
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
        RuleCase{"PR1", "S", Same(PatternRule(Unary("relu"))), {"{4}", "{5}"}},
        RuleCase{"PR2",
                 "S",
                 Same(PatternRule(Unary("relu", Either(Unary("relu"), Unary("abs"))))),
                 {"{3,4}", "{4,5}"}},
        RuleCase{"PR6",
                 "S",
                 Same(UnionRule({PatternRule(Unary("abs")), PatternRule(Unary("relu"))})),
                 {"{3}", "{4}", "{5}"}},
        RuleCase{"PR7", "V", Same(KindRule()), {"{4}", "{5}"}},
        RuleCase{"PR8",
                 "ops",
                 [](Joins joins) { return Singles({JoinKinds(kAnchorsTakeBroadcasts, joins)}); },
                 kPR8,
                 {"{11,23,24}", "{11,21,23,24}"}},
        RuleCase{
            "PR9", "ops", Same(Singles({JoinConstants()})), With(kSingles, {"{5,6}", "{7,8}"})},
        RuleCase{
            "PR10",
            "ops",
            [](Joins joins) { return Singles({JoinKinds(kLikeTvm, joins), JoinConstants()}); },
            With(kPR8, {"{5,6}", "{7,8}", "{8,9}", "{8,9,11}", "{8,9,15}", "{5,6,8}", "{5..8}",
                        "{7..9}", "{7..9,11}", "{7..9,15}"}),
            {"{6..8}", "{8,9,11,15}", "{7..9,11,15}", "{11,23,24}", "{11,21,23,24}"}},
        RuleCase{"PR11",
                 "ops",
                 [](Joins joins) {
                   return ValidRule(Singles({JoinKinds(kAnchorsTakeBroadcasts, joins)}), 2);
                 },
                 With(kSingles, {"{6,8}", "{11,24}", "{15,17}", "{17,18}", "{18,20}", "{20,21}",
                                 "{21,23}", "{23,24}"}),
                 {"{11,23,24}"}},
        RuleCase{"PR12", "tuples", Same(Singles({JoinTupleArguments()})),
                 With(kPR12, {"{10,14..16}"})},
        RuleCase{"PR13", "tuples", Same(Singles({JoinTupleProjections()})),
                 With(kPR12, {"{6,7}", "{6,11}", "{6,7,11}"})},
        RuleCase{"PR14",
                 "tuples",
                 Same(HostRule()),
                 {"{0}", "{1}", "{2}", "{3}", "{4}", "{5}", "{7}", "{11}", "{15}", "{17}"}},
        RuleCase{"FANIN",
                 "fan-in",
                 [](Joins joins) {
                   return Singles({JoinKinds({{OpKind::kAnchor, OpKind::kAnchor}}, joins)});
                 },
                 {"{4}", "{5}", "{6}", "{4,6}", "{5,6}"},
                 {"{4..6}"}},
        RuleCase{"all_matches",
                 "P4",
                 Same(PatternRule(Either(Unary("relu"), Unary("relu", Unary("relu"))))),
                 {"{2}", "{3}", "{4}", "{2,3}", "{3,4}"}},
        RuleCase{"either_way",
                 "tap",
                 Same(PatternRule(CallEitherWay("add", Call("conv", {Any(), Any()}), Any()))),
                 {"{5,7}"}},
        RuleCase{"siblings",
                 "products",
                 Same(CombineRule(PatternRule(CallOf("dense")), {JoinSiblings()}, 0)),
                 {"{5}", "{7}", "{10}", "{5,7}", "{5,10}", "{7,10}", "{5,7,10}"}},
        RuleCase{"anchors",
                 "products",
                 Same(CombineRule(PatternRule(CallOf("conv")), {JoinAnchors()}, 0)),
                 {"{13}", "{15}", "{13,15}"}},
        RuleCase{"anything",
                 "fan-in",
                 Same(Singles({JoinAnything()})),
                 {"{4}", "{5}", "{6}", "{4,6}", "{5,6}", "{4..6}"}},
        RuleCase{"like_tvm",
                 "ops",
                 Same(Singles({JoinLikeTvm()})),
                 With(kPR8, {"{8,9}", "{8,9,11}", "{8,9,15}", "{8,9,11,15}", "{11,23,24}",
                             "{11,21,23,24}"})},
        RuleCase{"user", "P4", Same(UserRule({{"2", "3"}, {"4"}})), {"{2,3}", "{4}"}}),
    [](const testing::TestParamInfo<RuleCase>& row) { return row.param.label; });

TEST(Rules, NameWhatAUserGotWrong) {
  EXPECT_THROW(static_cast<void>(UserRule({{"nope"}})(GraphNamed("P4"))), UserError);
}

}  // namespace
}  // namespace msc
