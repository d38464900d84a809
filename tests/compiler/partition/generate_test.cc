// Units and regions of generated graphs, and what targets of this build make of a model.
#include "compiler/partition/generate/generate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/partition/search/search.h"
#include "compiler/targets/register.h"

namespace msc {
namespace {

using Members = std::vector<std::size_t>;

// As in a network: chains with shortcuts, branches that join, now and then two outputs.
DataflowGraph GrownFlow(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<FlowNode> nodes(count);
  std::vector<FlowTensor> tensors(count + 1);
  std::vector<char> read(count, 0);
  for (FlowIndex i = 0; i < count; ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].outputs = {i};
    const std::size_t inputs = rng.Below(4) == 0 ? 2 : 1;
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::size_t back = k == 0 && rng.Below(8) != 0 ? 1 : 1 + rng.Below(6);
      const auto from = back > i ? static_cast<FlowIndex>(count) : static_cast<FlowIndex>(i - back);
      nodes[i].inputs.push_back(from);
      if (from < count) read[from] = 1;
    }
  }
  for (FlowIndex i = 0; i < count; ++i) tensors[i].leaves = read[i] == 0;
  return {std::move(nodes), std::move(tensors)};
}

std::vector<Unit> RandomUnits(const DataflowGraph& flow, Rng& rng) {
  std::vector<Unit> units;
  IndexSet covered = flow.EmptySet();
  for (std::size_t i = 0; i < flow.size(); ++i) {
    if (covered.Contains(i) || rng.Below(8) == 0) continue;
    IndexSet nodes = IndexSet::Range(flow.size(), i, i + 1);
    while (rng.Below(2) == 0) {
      const std::vector<FlowIndex>& consumers = flow.consumers(nodes.Last());
      if (consumers.empty() || covered.Contains(consumers.front())) break;
      nodes.Insert(consumers.front());
    }
    covered |= nodes;
    units.push_back({std::move(nodes), rng.Below(10) != 0});
  }
  return units;
}

TEST(Units, AreOrderedSoThatTheyCanRun) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const DataflowGraph flow = GrownFlow(40, seed);
    Rng rng(seed);
    const std::vector<Unit> ordered = OrderUnits(flow, RandomUnits(flow, rng));
    IndexSet done = flow.EmptySet();
    for (const Unit& unit : ordered) {
      ASSERT_TRUE(unit.nodes.Disjoint(done));
      done |= unit.nodes;
      unit.nodes.ForEach([&](std::size_t node) {
        for (const FlowIndex producer : flow.producers(node)) {
          EXPECT_TRUE(done.Contains(producer)) << seed;
        }
      });
    }
    EXPECT_EQ(done.Count(), flow.size());
  }
}

TEST(Units, RegionsAreConvexDistinctAndFew) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const DataflowGraph flow = GrownFlow(60, seed);
    Rng rng(seed);
    const std::vector<Unit> units = OrderUnits(flow, RandomUnits(flow, rng));
    IndexSet taken = flow.EmptySet();
    for (const Unit& unit : units) {
      if (unit.taken) taken |= unit.nodes;
    }
    std::set<IndexSet> seen;
    IndexSet greedy = flow.EmptySet();
    for (const RegionNodes& region : MakeRegions(flow, units)) {
      EXPECT_TRUE(seen.insert(region.nodes).second);
      EXPECT_TRUE(IsConvex(flow, region.nodes)) << seed << ToString(region.nodes);
      EXPECT_TRUE(region.nodes.SubsetOf(taken));
    }
    EXPECT_LE(seen.size(), units.size() * 10);
  }
}

TEST(Units, TheLargestRegionsAndTheWholeAreThere) {
  // 0 -> 1 -> 2 -> 4 and 0 -> 3 -> 4, where 2 is not taken.
  std::vector<FlowTensor> tensors(6);
  tensors[4].leaves = true;
  const DataflowGraph flow({{.name = "0", .inputs = {5}, .outputs = {0}},
                            {.name = "1", .inputs = {0}, .outputs = {1}},
                            {.name = "2", .inputs = {1}, .outputs = {2}},
                            {.name = "3", .inputs = {0}, .outputs = {3}},
                            {.name = "4", .inputs = {2, 3}, .outputs = {4}}},
                           std::move(tensors));
  std::vector<Unit> units;
  for (const std::size_t i : {0U, 1U, 3U, 4U}) units.push_back({IndexSet::Range(5, i, i + 1)});
  std::map<std::string, std::string> rules;
  for (const RegionNodes& region : MakeRegions(flow, OrderUnits(flow, units))) {
    rules[ToString(region.nodes)] = region.rule;
  }
  // {3,4} is a run; {0,1,3} is what no way through 2 parts.
  EXPECT_EQ(rules, (std::map<std::string, std::string>{{"{0}", "unit"},
                                                       {"{1}", "unit"},
                                                       {"{3}", "unit"},
                                                       {"{4}", "unit"},
                                                       {"{0,1}", "run"},
                                                       {"{3,4}", "run"},
                                                       {"{0,1,3}", "greedy"}}));
  units.push_back({IndexSet::Range(5, 2, 3)});
  const std::vector<RegionNodes> all = MakeRegions(flow, OrderUnits(flow, units));
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const RegionNodes& region) {
    return region.rule == "whole" && region.nodes.Count() == 5;
  }));
}

constexpr const char* kModel = R"(graph main {
  input %x : f32[1,4,8,8]
  const %w1 : f32[4,4,3,3] = random 1
  const %w2 : f32[4,4,1,1] = random 2
  const %m : f32[256,10] = random 3
  %a = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]} : f32[1,4,8,8]
  %b = Relu(%a) @relu1 : f32[1,4,8,8]
  %c = Conv(%b, %w2) @conv2 : f32[1,4,8,8]
  %d = Add(%c, %b) @add : f32[1,4,8,8]
  %e = Relu(%d) @relu2 : f32[1,4,8,8]
  %f = Flatten(%e) @flatten : f32[1,256]
  %g = MatMul(%f, %m) @matmul : f32[1,10]
  %h = Softmax(%g) @softmax : f32[1,10]
  output %h
})";

std::set<std::string> NamesOf(const DataflowGraph& flow,
                              const std::vector<CandidateRegion>& candidates,
                              std::string_view target) {
  std::set<std::string> all;
  for (const CandidateRegion& candidate : candidates) {
    if (candidate.target != target) continue;
    std::string names;
    candidate.nodes.ForEach(
        [&](std::size_t node) { names += (names.empty() ? "" : "+") + flow.node(node).name; });
    EXPECT_TRUE(all.insert(names).second) << names;
    EXPECT_TRUE(IsConvex(flow, candidate.nodes)) << names;
    EXPECT_TRUE(candidate.cost.unknown());
  }
  return all;
}

TEST(Candidates, AreWhatTargetsFuseAndSupport) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const Target* const reference = &registry.Get("reference");
  std::vector<const Target*> targets = {reference};
  if (registry.kinds().contains("onednn")) targets.push_back(&registry.Get("onednn:threads=1"));
  if (registry.kinds().contains("blas")) targets.push_back(&registry.Get("blas"));
  const std::vector<CandidateRegion> candidates = GenerateCandidates(graph, flow, targets);
  const std::set<std::string> plain = NamesOf(flow, candidates, "reference");
  EXPECT_EQ(plain.size(), 9U) << "it runs node by node";
  for (const char* names :
       {"conv1", "softmax", "conv1+relu1+conv2+add+relu2+flatten+matmul+softmax"}) {
    EXPECT_TRUE(plain.contains(names)) << names;
  }
  if (targets.size() > 1) {
    const std::set<std::string> fused = NamesOf(flow, candidates, targets[1]->spec());
    for (const char* names :
         {"conv1+relu1", "conv2+add+relu2", "conv1+relu1+conv2+add+relu2", "relu1", "conv2"}) {
      EXPECT_TRUE(fused.contains(names)) << names;
    }
  }
  if (targets.size() > 2) {
    const std::set<std::string> products = NamesOf(flow, candidates, "blas");
    EXPECT_TRUE(products.contains("matmul"));
  }
  // With costs, every search can make a cover of them.
  CoverProblem problem{.flow = flow, .candidates = candidates};
  for (CandidateRegion& candidate : problem.candidates) {
    candidate.cost = Cost::Micros(2 + static_cast<double>(candidate.nodes.Count()));
  }
  const Cover cover = FindCover(problem, "exact").value();
  EXPECT_DOUBLE_EQ(cover.micros, 10);
  EXPECT_EQ(cover.chosen.size(), 1U);
}

/// Takes some operators.
class Taker final : public Target {
 public:
  Taker(std::string name, std::set<std::string> ops, bool node_by_node,
        std::vector<RegionPattern> patterns = {})
      : facts_{std::move(name), "cpu", "1"},
        ops_(std::move(ops)),
        node_by_node_(node_by_node),
        patterns_(std::move(patterns)) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId node) const override {
    return ops_.contains(graph.node(node).op);
  }
  [[nodiscard]] bool DoRunsNodeByNode() const override { return node_by_node_; }
  [[nodiscard]] std::vector<RegionPattern> DoPatterns() const override { return patterns_; }
  TargetFacts facts_;
  std::set<std::string> ops_;
  bool node_by_node_;
  std::vector<RegionPattern> patterns_;
};

/// Who offers each region of a target that a rule or a pattern offers.
std::map<std::string, std::string> AskedOf(const DataflowGraph& flow,
                                           const std::vector<CandidateRegion>& candidates,
                                           std::string_view target) {
  (void)NamesOf(flow, candidates, target);  // distinct, convex, of unknown costs
  const std::set<std::string> own = {"unit", "run", "greedy", "whole", "shared unit", "node"};
  std::map<std::string, std::string> asked;
  for (const CandidateRegion& candidate : candidates) {
    if (candidate.target != target || (own.contains(candidate.rule) && candidate.also.empty())) {
      continue;
    }
    std::string names;
    candidate.nodes.ForEach(
        [&](std::size_t node) { names += (names.empty() ? "" : "+") + flow.node(node).name; });
    asked[names] = RulesOf(candidate);
  }
  return asked;
}

using Asked = std::map<std::string, std::string>;

TEST(Candidates, AreWhatRulesAndPatternsOfTargetsOffer) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const Taker plain("plain", {"Conv", "Relu", "Add", "Flatten"}, false);
  const Taker table("table", {"Conv", "Relu", "Add"}, false,
                    {{"tail", "Relu(Add)"}, {"product", "Softmax(MatMul)"}});
  const Target* const targets[] = {&plain, &table};
  const std::vector<CandidateRegion> without = GenerateCandidates(graph, flow, targets);
  EXPECT_EQ(AskedOf(flow, without, "plain"), Asked());
  EXPECT_EQ(AskedOf(flow, without, "table"), (Asked{{"add+relu2", "run, tail"}}))
      << "of what it does not run nothing";
  const PartitionRules rules = ParsePartitionRules(R"j({"rules": [
      {"name": "layer", "pattern": "Relu?(Conv)", "targets": ["plain"]},
      {"name": "far", "nodes": ["conv1", "relu1", "conv2", "add", "relu2"]},
      {"name": "fork", "nodes": ["relu1", "conv2"]},
      {"name": "tail", "pattern": "Relu(Add)"}]})j",
                                                   "it");
  const std::vector<CandidateRegion> with =
      GenerateCandidates(graph, flow, targets, {.regions = {.runs = false}, .rules = rules});
  // Without runs of neighbours most are new; what is there already is named as well.
  EXPECT_EQ(AskedOf(flow, with, "plain"), (Asked{{"conv1", "unit, layer"},
                                                 {"conv2", "unit, layer"},
                                                 {"conv1+relu1", "shared unit, layer"},
                                                 {"conv1+relu1+conv2+add+relu2", "far"},
                                                 {"relu1+conv2", "fork"},
                                                 {"add+relu2", "tail"}}));
  EXPECT_EQ(AskedOf(flow, with, "table"), (Asked{{"conv1+relu1+conv2+add+relu2", "greedy, far"},
                                                 {"relu1+conv2", "fork"},
                                                 {"add+relu2", "tail"}}));
  EXPECT_TRUE(RuleWarnings(rules, targets, flow, with).empty());
  EXPECT_EQ(UnitCandidates(with).size(), UnitCandidates(without).size());
}

TEST(Candidates, OfATargetThatGetsRulesOnlyAreThoseAndNodes) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const Taker one("one", {"Conv", "Relu"}, false);
  const Taker two("two", {"Conv", "Relu"}, false);
  const Target* const targets[] = {&one, &two};
  const PartitionRules rules = ParsePartitionRules(
      R"j({"rules": [{"name": "layer", "pattern": "Relu(Conv)"}], "only": ["one"]})j", "it");
  const std::vector<CandidateRegion> candidates =
      GenerateCandidates(graph, flow, targets, {.regions = {}, .rules = rules});
  EXPECT_EQ(NamesOf(flow, candidates, "one"),
            (std::set<std::string>{"conv1", "conv1+relu1", "conv2", "relu1", "relu2"}));
  EXPECT_TRUE(NamesOf(flow, candidates, "two").contains("conv1+relu1+conv2"));
}

TEST(Candidates, OfRulesThatMakeNoSenseAreRefusedOrWarnedOf) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const Taker conv("conv", {"Conv", "Relu"}, false);
  const Taker sum("sum", {"Add", "Relu"}, false);
  const Target* const targets[] = {&conv, &sum};
  const auto generate = [&](const std::string& rule) {
    const PartitionRules rules = ParsePartitionRules(R"j({"rules": [)j" + rule + "]}", "it");
    return RuleWarnings(rules, targets, flow,
                        GenerateCandidates(graph, flow, targets, {.regions = {}, .rules = rules}));
  };
  const std::vector<std::pair<std::string, std::string>> refused = {
      {R"j({"name": "a", "nodes": ["relu1", "add"]})j",
       "rule 'a': a path leaves its nodes and comes back through 'conv2' (Conv); name that node, "
       "too"},
      {R"j({"name": "a", "nodes": ["relu3"]})j",
       "rule 'a': a region names node 'relu3', which the graph does not have; did you mean "
       "'relu1'?"},
      {R"j({"name": "a", "nodes": ["conv1", "relu1"], "targets": ["conv", "sum"]})j",
       "rule 'a': sum does not take node 'conv1' (Conv); leave the node or the target out of the "
       "rule"},
      {R"j({"name": "a", "pattern": "Relu(Add)", "targets": ["conv"]})j",
       "rule 'a': conv does not take node 'add' (Add); leave the node or the target out of the "
       "rule"},
      {R"j({"name": "a", "nodes": ["conv2", "add"]})j",
       "rule 'a': no target takes all of its nodes: conv not 'add' (Add), sum not 'conv2' (Conv)"},
  };
  for (const auto& [rule, wanted] : refused) {
    try {
      (void)generate(rule);
      ADD_FAILURE() << rule;
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), wanted);
    }
  }
  using Texts = std::vector<std::string>;
  EXPECT_EQ(generate(R"j({"name": "a", "nodes": ["conv1", "relu1"]})j"), Texts())
      << "one takes them";
  EXPECT_EQ(generate(R"j({"name": "a", "pattern": "Tanh(Conv)"})j"),
            (Texts{"rule 'a' matches nothing in the canonical graph that could be a region"}));
  EXPECT_EQ(generate(R"j({"name": "a", "pattern": "Conv", "targets": ["conv", "summ"]})j"),
            (Texts{"rule 'a' names 'summ', which is none of the targets; did you mean 'sum'?"}));
  // Of both ReLUs behind something, each target takes one.
  EXPECT_EQ(
      generate(R"j({"name": "a", "pattern": "Relu(Add | Conv)"})j"),
      (Texts{"rule 'a': conv takes 1 of its 2 regions; it does not take node 'add' (Add)",
             "rule 'a': sum takes 1 of its 2 regions; it does not take node 'conv1' (Conv)"}));
  EXPECT_EQ(
      generate(R"j({"name": "a", "pattern": "Relu(Add | Conv)", "targets": ["sum"]})j"),
      (Texts{"rule 'a': sum takes 1 of its 2 regions; it does not take node 'conv1' (Conv)"}));
  EXPECT_EQ(generate(R"j({"name": "a", "pattern": "Relu"})j"), Texts()) << "both take all";
  // A pattern of a target is this project's own: what is wrong with it says whose it is.
  const Taker wrong("wrong", {"Conv"}, false, {{"bad", "Conv("}});
  const Target* const only[] = {&wrong};
  try {
    (void)GenerateCandidates(graph, flow, only);
    ADD_FAILURE() << "it was read";
  } catch (const UserError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("pattern 'bad' of target wrong, column 6:"))
        << error.what();
  }
}

TEST(Candidates, OfATargetThatRunsNodeByNodeAreFew) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const std::set<std::string> all = {"Conv", "Relu", "Add", "Flatten", "MatMul", "Softmax"};
  const Taker fuses("fuses", {"Conv", "Relu", "Add"}, false);
  const Taker simple("simple", all, true);
  const Target* const targets[] = {&fuses, &simple};
  const std::vector<CandidateRegion> candidates = GenerateCandidates(graph, flow, targets);
  EXPECT_EQ(NamesOf(flow, candidates, "simple"),
            (std::set<std::string>{"conv1", "relu1", "conv2", "add", "relu2", "flatten", "matmul",
                                   "softmax", "flatten+matmul+softmax",
                                   "conv1+relu1+conv2+add+relu2+flatten+matmul+softmax"}))
      << "what nobody else takes stays in one piece";
  EXPECT_TRUE(NamesOf(flow, candidates, "fuses").contains("relu1+conv2+add"));
}

TEST(Candidates, ThatCostWhatTheirNodesCostDoNotMakeCoversCheaper) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CoverProblem full{.flow = GrownFlow(30, seed)};
    Rng rng(seed);
    CoverProblem few = full;
    const auto add = [](CoverProblem& problem, const IndexSet& nodes, const char* target,
                        double micros) {
      problem.candidates.push_back({.nodes = nodes, .target = target, .rule = "test"});
      problem.candidates.back().cost = Cost::Micros(micros);
    };
    for (const char* target : {"a", "b"}) {
      for (const RegionNodes& region :
           MakeRegions(full.flow, OrderUnits(full.flow, RandomUnits(full.flow, rng)))) {
        const double micros = static_cast<double>(region.nodes.Count()) * (1 + 2 * rng.Uniform());
        add(full, region.nodes, target, micros);
        add(few, region.nodes, target, micros);
      }
    }
    // Whole picoseconds, as searches add.
    std::vector<double> each(full.flow.size());
    for (double& micros : each) micros = 0.5 + static_cast<double>(rng.Below(3000)) / 1000;
    std::vector<Unit> singles;
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (rng.Below(6) != 0) singles.push_back({IndexSet::Range(each.size(), i, i + 1), true});
      add(full, IndexSet::Range(each.size(), i, i + 1), "c", 9);  // so that there is a cover
      add(few, IndexSet::Range(each.size(), i, i + 1), "c", 9);
    }
    singles = OrderUnits(full.flow, std::move(singles));
    for (CoverProblem* problem : {&full, &few}) {
      const RegionOptions options{.runs = problem == &full};
      for (const RegionNodes& region : MakeRegions(problem->flow, singles, options)) {
        double micros = 0;
        region.nodes.ForEach([&](std::size_t node) { micros += each[node]; });
        add(*problem, region.nodes, "simple", micros);
      }
    }
    ASSERT_LT(few.candidates.size(), full.candidates.size());
    EXPECT_NEAR(FindCover(few, "exact").value().micros, FindCover(full, "exact").value().micros,
                1e-6)
        << seed;
  }
}

TEST(Candidates, TakeTheNodesOfAStrategyAlong) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  if (!registry.kinds().contains("onednn")) GTEST_SKIP() << "this build has no onednn";
  if (!DetectIsa().vnni) GTEST_SKIP() << "without VNNI, onednn takes no 8-bit layers";
  const Graph graph = ParseGraph(R"(graph main {
    input %x : f32[1,8,8,8]
    const %w : i8[8,8,1,1] = random 1
    const %s : f32[] = [0.02]
    const %z : i8[] = [0]
    %q = QuantizeLinear(%x, %s, %z) @q1 : i8[1,8,8,8]
    %x8 = DequantizeLinear(%q, %s, %z) @dq1 : f32[1,8,8,8]
    %w8 = DequantizeLinear(%w, %s, %z) @dqw : f32[8,8,1,1]
    %a = Conv(%x8, %w8) @conv : f32[1,8,8,8]
    %b = Relu(%a) @relu : f32[1,8,8,8]
    %q2 = QuantizeLinear(%b, %s, %z) @q2 : i8[1,8,8,8]
    %y = DequantizeLinear(%q2, %s, %z) @dq2 : f32[1,8,8,8]
    %t = Tanh(%y) @tanh : f32[1,8,8,8]
    output %t
  })");
  const Graph plain = ParseGraph(R"(graph main {
    input %x : f32[1,8,8,8]
    const %w : f32[8,8,1,1] = random 1
    %a = Conv(%x, %w) @conv : f32[1,8,8,8]
    %b = Relu(%a) @relu : f32[1,8,8,8]
    %t = Tanh(%b) @tanh : f32[1,8,8,8]
    output %t
  })");
  const Target* const targets[] = {&registry.Get("onednn")};
  const DataflowGraph whole(graph);
  const std::set<std::string> all =
      NamesOf(whole, GenerateCandidates(graph, whole, targets), "onednn");
  EXPECT_TRUE(all.contains("dq1+dqw+conv+relu+q2"));
  const DataflowGraph without(plain);
  const std::set<std::string> some =
      NamesOf(without, GenerateCandidates(graph, without, targets), "onednn");
  EXPECT_EQ(some, (std::set<std::string>{"conv", "conv+relu", "conv+relu+tanh", "relu", "tanh"}));
}

TEST(Candidates, OfTenThousandNodesArePartitionedWithProof) {
  const std::size_t count = 10'000;
  CoverProblem problem{.flow = GrownFlow(count, 5)};
  Rng rng(5);
  for (const char* target : {"a", "b", "c"}) {
    const std::vector<Unit> units = OrderUnits(problem.flow, RandomUnits(problem.flow, rng));
    for (RegionNodes& region : MakeRegions(problem.flow, units)) {
      const double each = 5 + rng.Uniform() * 10;
      const double saved = 1 - 0.3 * rng.Uniform();
      const auto size = static_cast<double>(region.nodes.Count());
      problem.candidates.push_back({.nodes = std::move(region.nodes),
                                    .target = target,
                                    .rule = std::move(region.rule),
                                    .cost = Cost::Micros(2 + each * size * saved)});
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    problem.candidates.push_back({.nodes = IndexSet::Range(count, i, i + 1),
                                  .target = "reference",
                                  .cost = Cost::Micros(30)});
  }
  const Cover cover = FindCover(problem, "exact").value();
  EXPECT_EQ(cover.gap(), 0);
  EXPECT_LT(cover.statistics.peak_bytes, SearchOptions{}.max_bytes);
  const Cover beam = FindCover(problem, "beam").value();
  EXPECT_LE(cover.micros, beam.micros);
  EXPECT_LE(beam.lower_bound, cover.micros);
  RecordProperty("candidates", static_cast<int>(problem.candidates.size()));
  RecordProperty("peak_bytes", std::to_string(cover.statistics.peak_bytes));
}

}  // namespace
}  // namespace msc
