// Tables of what TVM's Collage finds, and of what it would find without its mistakes: sub-graphs,
// rules, and whole partitions with mock costs. Numbers of nodes are places in depth-first
// post-order of an expression, in which parameters, operator names and the function itself are
// nodes as well.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/partition/rules/rule.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/search.h"

namespace msc {
namespace {

using Members = std::vector<std::size_t>;
using Sets = std::set<std::string>;

// --- expressions ---

struct Expr;
using ExprPtr = std::shared_ptr<Expr>;
struct Expr {
  FlowRole role = FlowRole::kCall;
  std::string op = {};
  std::vector<ExprPtr> operands = {};
};

ExprPtr Make(FlowRole role, std::vector<ExprPtr> operands = {}) {
  return std::make_shared<Expr>(Expr{.role = role, .operands = std::move(operands)});
}
ExprPtr Param() {
  return Make(FlowRole::kParameter);
}
ExprPtr Const() {
  return Make(FlowRole::kConstant);
}
ExprPtr Scalar() {
  return Make(FlowRole::kScalar);
}
ExprPtr TupleExpr(std::vector<ExprPtr> fields) {
  return Make(FlowRole::kTuple, std::move(fields));
}
ExprPtr Get(ExprPtr tuple) {
  return Make(FlowRole::kProjection, {std::move(tuple)});
}
ExprPtr Do(const std::string& op, std::vector<ExprPtr> operands) {
  return std::make_shared<Expr>(
      Expr{.role = FlowRole::kCall, .op = op, .operands = std::move(operands)});
}

OpKind KindOfOp(const Expr& expr) {
  if (expr.role == FlowRole::kConstant || expr.role == FlowRole::kScalar)
    return OpKind::kElementwise;
  if (expr.role == FlowRole::kTuple || expr.role == FlowRole::kProjection)
    return OpKind::kInjective;
  if (expr.role != FlowRole::kCall) return OpKind::kOpaque;
  static const std::map<std::string, OpKind> kinds = {
      {"relu", OpKind::kElementwise},    {"abs", OpKind::kElementwise},
      {"tanh", OpKind::kElementwise},    {"leaky", OpKind::kElementwise},
      {"add", OpKind::kBroadcast},       {"sub", OpKind::kBroadcast},
      {"mul", OpKind::kBroadcast},       {"power", OpKind::kBroadcast},
      {"expand", OpKind::kBroadcast},    {"reshape", OpKind::kInjective},
      {"transpose", OpKind::kInjective}, {"concat", OpKind::kInjective},
      {"split", OpKind::kInjective},     {"conv", OpKind::kAnchor},
      {"dense", OpKind::kAnchor}};
  const auto it = kinds.find(expr.op);
  return it == kinds.end() ? OpKind::kOpaque : it->second;
}

class Numbering {
 public:
  DataflowGraph Function(const std::vector<ExprPtr>& params, const ExprPtr& body) {
    for (const ExprPtr& param : params) Visit(param);
    Visit(body);
    std::vector<FlowIndex> inputs;
    for (const ExprPtr& param : params) inputs.push_back(numbers_.at(param.get()));
    inputs.push_back(numbers_.at(body.get()));
    const FlowIndex function =
        Put({.name = {}, .op = "fn", .role = FlowRole::kFunction, .inputs = inputs});
    tensors_[function].leaves = true;
    return {std::move(nodes_), std::move(tensors_)};
  }

 private:
  FlowIndex Put(FlowNode node) {
    const auto number = static_cast<FlowIndex>(nodes_.size());
    node.name = std::to_string(number);
    node.outputs = {number};
    nodes_.push_back(std::move(node));
    tensors_.push_back({.name = std::to_string(number)});
    return number;
  }

  void Visit(const ExprPtr& expr) {
    if (numbers_.contains(expr.get())) return;
    std::vector<FlowIndex> inputs;
    if (expr->role == FlowRole::kCall) {
      const auto [it, added] = operators_.emplace(expr->op, 0);
      if (added) it->second = Put({.name = {}, .op = expr->op, .role = FlowRole::kOperator});
      inputs.push_back(it->second);
    }
    for (const ExprPtr& operand : expr->operands) {
      Visit(operand);
      inputs.push_back(numbers_.at(operand.get()));
    }
    numbers_[expr.get()] = Put({.name = {},
                                .op = expr->op,
                                .role = expr->role,
                                .kind = KindOfOp(*expr),
                                .inputs = inputs});
  }

  std::vector<FlowNode> nodes_;
  std::vector<FlowTensor> tensors_;
  std::map<const Expr*, FlowIndex> numbers_;
  std::map<std::string, FlowIndex> operators_;
};

DataflowGraph Fn(const std::vector<ExprPtr>& params, const ExprPtr& body) {
  return Numbering().Function(params, body);
}

// Graphs by name.
DataflowGraph GraphNamed(const std::string& name) {
  const ExprPtr a = Param();
  const ExprPtr b = Param();
  const ExprPtr c = Param();
  const ExprPtr d = Param();
  if (name == "sub") return Fn({a, b, c, d}, Do("sub", {Do("add", {a, b}), Do("add", {c, d})}));
  if (name == "layer") {
    const ExprPtr sum = Do("add", {Do("conv", {a, b}), c});
    return Fn({a, b, c, d}, Do("sub", {Do("relu", {sum}), d}));
  }
  const ExprPtr conv = Do("conv", {a, b});
  if (name == "diamond") {
    return Fn({a, b}, Do("add", {Do("relu", {Do("relu", {conv})}), Do("leaky", {conv})}));
  }
  if (name == "tap") return Fn({a, b}, Do("add", {Do("relu", {conv}), conv}));
  if (name == "chain of adds") {
    return Fn({a, b}, Do("add", {Do("add", {Do("add", {a, b}), b}), b}));
  }
  const auto relu = [](const ExprPtr& x) { return Do("relu", {x}); };
  if (name == "labels" || name == "nested tap") {
    const ExprPtr r4 = relu(relu(a));
    const ExprPtr r5 = relu(r4);
    const ExprPtr s7 = Do("add", {r5, relu(r4)});
    const ExprPtr s10 = Do("add", {relu(s7), relu(s7)});
    return Fn({a}, name == "labels" ? relu(s10) : Do("add", {r5, s10}));
  }
  if (name == "S") return Fn({a}, relu(relu(Do("abs", {a}))));
  if (name == "V") {
    return Fn({a}, Do("shape_of", {Do("add", {Do("abs", {a}), a})}));
  }
  if (name == "ops") {
    const ExprPtr shaped = Do("reshape", {Do("add", {Do("dense", {a, Const()}), Const()})});
    const ExprPtr half = Do("mul", {shaped, Scalar()});
    const ExprPtr cube = Do("mul", {Do("power", {shaped, Scalar()}), Scalar()});
    const ExprPtr inner = Do("mul", {Do("add", {shaped, cube}), Scalar()});
    return Fn({a}, Do("mul", {half, Do("add", {Do("tanh", {inner}), Scalar()})}));
  }
  if (name == "tuples") {
    const ExprPtr split = Do("split", {a});
    const auto branch = [&] {
      return Do("expand", {Do("transpose", {Do("reshape", {Get(split)})})});
    };
    return Fn({a}, Do("concat", {TupleExpr({branch(), branch()})}));
  }
  if (name == "fan-in") return Fn({a, b}, Do("add", {relu(a), relu(b)}));
  if (name == "P1") return Fn({a}, relu(a));
  if (name == "P3") {
    const ExprPtr five = Do("abs", {relu(a)});
    return Fn({a}, Do("add", {five, relu(five)}));
  }
  if (name == "P4") return Fn({a}, relu(relu(relu(a))));
  if (name == "P6") {
    const ExprPtr two = relu(a);
    const ExprPtr three = relu(two);
    return Fn({a}, TupleExpr({two, three, Do("abs", {three})}));
  }
  if (name == "P7") {
    const ExprPtr three = relu(a);
    return Fn({a}, Do("concat", {TupleExpr({three, relu(three)})}));
  }
  if (name == "P8") {
    const ExprPtr sum = Do("add", {relu(relu(a)), relu(Do("abs", {a}))});
    return Fn({a}, Do("abs", {relu(sum)}));
  }
  if (name == "P9" || name == "P10") {
    const ExprPtr first = relu(a);
    const ExprPtr second = name == "P9" ? Do("abs", {first}) : relu(first);
    return Fn({a}, Do("add", {second, Do("add", {first, second})}));
  }
  if (name == "wide") {
    const auto branch = [&] { return relu(relu(relu(a))); };
    ExprPtr sum = branch();
    for (int i = 0; i < 3; ++i) sum = Do("add", {sum, branch()});
    return Fn({a}, sum);
  }
  if (name ==
      "products") {  // of one value by three weights, and two convolutions behind each other
    const auto product = [&] { return Do("dense", {a, Const()}); };
    const ExprPtr sum = Do("add", {Do("add", {product(), product()}), product()});
    return Fn({a}, Do("conv", {Do("conv", {sum, Const()}), Const()}));
  }
  throw InternalError("no such graph: " + name, __FILE__, __LINE__);
}

IndexSet Set(const DataflowGraph& flow, const Members& members) {
  return {flow.size(), members};
}

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

// --- whole partitions: section 7.4, with 7.3's mock costs ---

// Of a region with k calls: base * (1 + rate + ... + rate^(k - 1)).
double Mock(const DataflowGraph& flow, const IndexSet& nodes, double base, double rate) {
  double sum = 0;
  double factor = 1;
  nodes.ForEach([&](std::size_t node) {
    if (flow.node(node).role != FlowRole::kCall) return;
    sum += base * factor;
    factor *= rate;
  });
  return sum;
}

TEST(CandidateCosts, AreThoseOfSection73) {
  const DataflowGraph flow = GraphNamed("S");
  EXPECT_NEAR(Mock(flow, Set(flow, {3, 4}), 3, 0.9), 5.7, 1e-9) << "C1";
  const DataflowGraph concat = GraphNamed("P7");
  EXPECT_NEAR(Mock(concat, Set(concat, {6}), 3, 0.9), 3, 1e-9) << "C5: of a tuple";
  // C2: what is known is not asked for; C3: neither is what cannot run. Nodes 3 to 5 of S.
  CoverProblem problem{.flow = flow};
  const auto add = [&](const Members& nodes, Cost cost) {
    problem.candidates.push_back(
        {.nodes = Set(flow, nodes), .target = "E", .cost = std::move(cost)});
  };
  for (std::size_t node = 0; node < flow.size(); ++node) {
    if (flow.node(node).role != FlowRole::kCall) add({node}, Cost::Micros(0));
  }
  add({3, 4}, Cost::Micros(42));
  add({5}, Cost::Unknown());
  add({4, 5}, Cost::Invalid("invalid"));
  const auto five = static_cast<std::uint32_t>(problem.candidates.size() - 2);
  const Cover cover = FindCoverLazily(problem, [&](std::span<const std::uint32_t> candidates) {
                        EXPECT_EQ(candidates.size(), 1U);
                        EXPECT_EQ(candidates[0], five);
                        return std::vector<Cost>{Cost::Micros(3)};
                      }).value();
  EXPECT_NEAR(cover.micros, 45, 1e-9);
}

struct MockTarget {
  std::string name;
  Rule rule;
  double base;
  double rate = 0.9;
};

CoverProblem MockProblem(const DataflowGraph& flow, const std::vector<MockTarget>& targets,
                         RuleMode mode) {
  CoverProblem problem{.flow = flow};
  for (const MockTarget& target : targets) {
    for (const Offered& offered : target.rule.find(flow, mode)) {
      const IndexSet& nodes = offered.sub_graph.inside;
      problem.candidates.push_back(
          {.nodes = nodes,
           .target = target.name,
           .rule = offered.rule,
           .cost = Cost::Micros(Mock(flow, nodes, target.base, target.rate))});
    }
  }
  return problem;
}

std::vector<MockTarget> Targets(double llvm, double library, std::size_t llvm_depth,
                                std::size_t library_depth) {
  const std::vector<TargetPattern> patterns = {
      {"relu", Unary("relu")}, {"add", Call("add", {Any(), Any()})}, {"concat", Unary("concat")}};
  return {{"llvm", GeneratedCodeRule(llvm_depth), llvm},
          {"E", LibraryRule("E", patterns, FusionStyle::kAnything, library_depth), library},
          {"host", HostRule(), 0}};
}

std::size_t CountOf(const CoverProblem& problem, std::string_view target) {
  return static_cast<std::size_t>(
      std::count_if(problem.candidates.begin(), problem.candidates.end(),
                    [&](const Candidate& candidate) { return candidate.target == target; }));
}

// "E{4} llvm{5}" of what is not on the host.
std::string RegionsOf(const CoverProblem& problem, const std::vector<std::uint32_t>& chosen,
                      bool merged) {
  std::vector<std::uint32_t> computed;
  for (const std::uint32_t i : chosen) {
    if (problem.candidates[i].target != "host") computed.push_back(i);
  }
  std::vector<Merged> regions;
  for (const std::uint32_t i : computed) {
    regions.push_back({problem.candidates[i].nodes, problem.candidates[i].target});
  }
  if (merged) regions = MergeNeighbours(problem, computed);
  std::sort(regions.begin(), regions.end(),
            [](const Merged& a, const Merged& b) { return a.nodes < b.nodes; });
  std::string text;
  for (const Merged& region : regions) {
    text += (text.empty() ? "" : " ") + region.target + ToString(region.nodes);
  }
  return text;
}

struct PartitionCase {
  std::string label;
  std::string graph;
  double llvm, library;
  std::size_t llvm_depth, library_depth;
  std::size_t llvm_count, library_count, host_count;
  std::size_t library_complete;
  double micros;
  std::string regions;      ///< of the search, in compat mode
  std::string merged;       ///< and after neighbours were merged
  std::int64_t states = 0;  ///< popped and tried, where the reference has them
  std::int64_t transitions = 0;
};
void PrintTo(const PartitionCase& value, std::ostream* out) {
  *out << value.label;
}
class Partitions : public testing::TestWithParam<PartitionCase> {};

TEST_P(Partitions, AreTheBestOnes) {
  const PartitionCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  const auto targets = Targets(row.llvm, row.library, row.llvm_depth, row.library_depth);
  const CoverProblem compat = MockProblem(flow, targets, RuleMode::kCompat);
  EXPECT_EQ(CountOf(compat, "llvm"), row.llvm_count);
  EXPECT_EQ(CountOf(compat, "E"), row.library_count);
  EXPECT_EQ(CountOf(compat, "host"), row.host_count);
  const auto kept = PruneAsCollage(compat, Twins::kCompat);
  const Result<CollagePath> path = SearchAsCollage(compat, kept);
  ASSERT_TRUE(path.ok()) << path.failure().detail;
  EXPECT_NEAR(path.value().micros, row.micros, 1e-9);
  EXPECT_EQ(RegionsOf(compat, path.value().chosen, false), row.regions);
  EXPECT_EQ(RegionsOf(compat, path.value().chosen, true), row.merged);
  if (row.states > 0) {
    EXPECT_EQ(path.value().states, row.states);
    EXPECT_EQ(path.value().transitions, row.transitions);
  }
  const CoverProblem complete = MockProblem(flow, targets, RuleMode::kComplete);
  EXPECT_EQ(CountOf(complete, "E"), row.library_complete);
  for (const char* search : {"exact", "ilp"}) {
    const bool present = std::any_of(Searches().begin(), Searches().end(),
                                     [&](const Search& s) { return s.name == search; });
    if (!present) continue;
    const Result<Cover> cover = FindCover(complete, search);
    ASSERT_TRUE(cover.ok()) << cover.failure().detail;
    EXPECT_NEAR(cover.value().micros, row.micros, 1e-9) << search;
    EXPECT_EQ(cover.value().gap(), 0) << search;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Section74, Partitions,
    testing::Values(
        PartitionCase{"P1", "P1", 1, 2, 8, 8, 1, 1, 3, 1, 1.0, "llvm{2}", "llvm{2}", 5, 5},
        PartitionCase{"P2", "P1", 2, 1, 8, 8, 1, 1, 3, 1, 1.0, "E{2}", "E{2}"},
        PartitionCase{"P3a", "P3", 2, 1, 1, 1, 4, 3, 5, 3, 5.0, "E{4} llvm{5} E{6} E{7}",
                      "E{4} llvm{5} E{6,7}"},
        PartitionCase{"P3b", "P3", 2, 1, 1, 3, 4, 4, 5, 4, 4.9, "E{4} llvm{5} E{6,7}",
                      "E{4} llvm{5} E{6,7}", 10, 13},
        PartitionCase{"P4_1", "P4", 100, 99, 1, 1, 3, 3, 3, 3, 297, "E{2} E{3} E{4}", "E{2..4}"},
        PartitionCase{"P4_2", "P4", 100, 99, 2, 1, 5, 3, 3, 3, 289, "E{2} llvm{3,4}",
                      "E{2} llvm{3,4}"},
        PartitionCase{"P4_3", "P4", 100, 99, 3, 1, 6, 3, 3, 3, 271, "llvm{2..4}", "llvm{2..4}", 7,
                      12},
        PartitionCase{"P5_1", "P4", 99, 100, 1, 1, 3, 3, 3, 3, 297, "llvm{2} llvm{3} llvm{4}",
                      "llvm{2..4}"},
        PartitionCase{"P5_2", "P4", 99, 100, 1, 2, 3, 5, 3, 5, 289, "llvm{2} E{3,4}",
                      "llvm{2} E{3,4}"},
        PartitionCase{"P5_3", "P4", 99, 100, 1, 3, 3, 6, 3, 6, 271, "E{2..4}", "E{2..4}"},
        PartitionCase{"P6", "P6", 2, 1, 2, 2, 3, 2, 5, 2, 4.0, "E{2} E{3} llvm{5}",
                      "E{2,3} llvm{5}"},
        PartitionCase{"P7", "P7", 2, 1, 3, 5, 3, 3, 5, 3, 3.0, "E{3} E{4} E{6}", "E{3,4} E{6}"},
        PartitionCase{"P8", "P8", 5, 6, 1, 5, 7, 15, 5, 17, 34.5706, "E{4,5,7..9} llvm{6} llvm{10}",
                      "E{4,5,7..9} llvm{6} llvm{10}", 19, 39},
        PartitionCase{"P9", "P9", 2, 1, 4, 4, 7, 4, 5, 4, 4.9, "E{4} llvm{5} E{6,7}",
                      "E{4} llvm{5} E{6,7}", 10, 16},
        PartitionCase{"P10", "P10", 2, 1, 4, 4, 7, 7, 4, 7, 3.439, "E{3..6}", "E{3..6}", 6, 6}),
    [](const testing::TestParamInfo<PartitionCase>& row) { return row.param.label; });

TEST(Partitions, PruningKeepsTwoOfP10) {
  const CoverProblem problem =
      MockProblem(GraphNamed("P10"), Targets(2, 1, 4, 4), RuleMode::kCompat);
  const auto kept = PruneAsCollage(problem, Twins::kCompat);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(),
                          [&](std::uint32_t i) { return problem.candidates[i].target != "host"; }),
            2);
}

TEST(Partitions, OfWideGraphsAreBetterWithAllCandidates) {  // T-WIDE
  const DataflowGraph flow = GraphNamed("wide");
  const std::vector<TargetPattern> patterns = {{"relu", Unary("relu")},
                                               {"add", Call("add", {Any(), Any()})}};
  const std::vector<MockTarget> targets = {
      {"native", GeneratedCodeRule(4), 5, 0.9},
      {"library", LibraryRule("library", patterns, FusionStyle::kAnything, 4), 6, 0.85},
      {"host", HostRule(), 0}};
  const CoverProblem compat = MockProblem(flow, targets, RuleMode::kCompat);
  const CoverProblem complete = MockProblem(flow, targets, RuleMode::kComplete);
  EXPECT_EQ(CountOf(compat, "native") + CountOf(compat, "library"), 126U);
  EXPECT_EQ(CountOf(complete, "native") + CountOf(complete, "library"), 232U);
  EXPECT_NEAR(FindCover(compat, "exact").value().micros, 65.135, 5e-4);
  EXPECT_NEAR(FindCover(complete, "exact").value().micros, 61.356, 5e-4);
}

}  // namespace
}  // namespace msc
