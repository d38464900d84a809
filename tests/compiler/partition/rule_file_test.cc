// Files of partition rules: what they offer, and what is refused with what words.
#include "compiler/partition/rules/rule_file.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

using Names = std::set<std::string>;

// Two layers, and three products of one value.
constexpr const char* kModel = R"j(graph main {
  input %x : f32[1,4,8,8]
  const %w1 : f32[4,4,1,1] = random 1
  const %w2 : f32[4,4,1,1] = random 2
  const %m : f32[8,8] = random 3
  %a = Conv(%x, %w1) @conv1 : f32[1,4,8,8]
  %b = Relu(%a) @relu1 : f32[1,4,8,8]
  %c = Conv(%b, %w2) @conv2 : f32[1,4,8,8]
  %d = Relu(%c) @relu2 : f32[1,4,8,8]
  %q = MatMul(%d, %m) @q : f32[1,4,8,8]
  %k = MatMul(%d, %m) @k : f32[1,4,8,8]
  %v = MatMul(%d, %m) @v : f32[1,4,8,8]
  %p = MatMul(%q, %k) @qk : f32[1,4,8,8]
  %y = MatMul(%p, %v) @out : f32[1,4,8,8]
  output %y
})j";

std::map<std::string, Names> OffersOf(const PartitionRules& rules) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  std::map<std::string, Names> offers;
  for (const NamedRule& rule : rules.rules) {
    Names& all = offers[rule.name];
    for (const SubGraph& sub_graph : rule.rule(flow)) {
      std::string names;
      sub_graph.inside.ForEach(
          [&](std::size_t i) { names += (names.empty() ? "" : "+") + flow.node(i).name; });
      all.insert(names);
    }
  }
  return offers;
}

TEST(PartitionRuleFile, OffersWhatItSays) {
  const PartitionRules rules = ParsePartitionRules(R"j({"rules": [
      {"name": "layer", "pattern": "Relu?(Conv)", "targets": ["a", "b:threads=2"]},
      {"name": "qkv", "siblings": "MatMul"},
      {"name": "mine", "nodes": ["relu1", "conv2", "relu1"]},
      {"name": "pairs", "combine": ["layer"], "join": "anchors", "max_depth": 4},
      {"name": "short pairs", "combine": ["layer"], "join": "anchors", "max_depth": 3},
      {"name": "all", "combine": ["layer", "mine"], "max_depth": 2}], "only": ["a"]})j",
                                                   "'file'");
  EXPECT_EQ(rules.only, (std::vector<std::string>{"a"}));
  EXPECT_EQ(rules.rules[0].targets, (std::vector<std::string>{"a", "b:threads=2"}));
  EXPECT_FALSE(rules.rules[0].exact);
  EXPECT_TRUE(rules.rules[2].exact);
  const std::map<std::string, Names> offers = OffersOf(rules);
  const Names layers = {"conv1", "conv1+relu1", "conv2", "conv2+relu2"};
  EXPECT_EQ(offers.at("layer"), layers);
  EXPECT_EQ(offers.at("qkv"), (Names{"q+k", "k+v", "q+k+v"}));
  EXPECT_EQ(offers.at("mine"), (Names{"relu1+conv2"}));
  Names pairs = layers;
  pairs.insert("conv1+relu1+conv2");
  EXPECT_EQ(offers.at("short pairs"), pairs);
  pairs.insert("conv1+relu1+conv2+relu2");
  EXPECT_EQ(offers.at("pairs"), pairs);
  Names all = layers;
  all.insert("relu1+conv2");
  EXPECT_EQ(offers.at("all"), all) << "nothing joined has two nodes on its way";
  EXPECT_TRUE(ParsePartitionRules("{}", "it").rules.empty());
}

TEST(PartitionRuleFile, IsRefusedWithPlaceAndRemedy) {
  const std::string one = "must have exactly one of pattern, siblings, nodes and combine";
  const std::string name = "must be 1 to 40 letters, digits, '_', '-', '.' or inner spaces";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"{", "it: the file is not valid JSON at line 1, column 2"},
      {"[]", "it: '' must be an object, not []"},
      {R"j({"rule": []})j", "it: unknown key 'rule'; known here: rules, only"},
      {R"j({"rules": [{"name": "a", "patern": "Relu"}]})j",
       "it: unknown key 'rules[0].patern'; known here: name, targets, pattern, siblings, nodes, "
       "combine, join, max_depth"},
      {R"j({"rules": [{"name": "a"}]})j", "it: 'rules[0]' " + one},
      {R"j({"rules": [{"name": "a", "pattern": "Relu", "nodes": ["x"]}]})j",
       "it: 'rules[0]' " + one},
      {R"j({"rules": [{"pattern": "Relu"}]})j", "it: 'rules[0].name' " + name},
      {R"j({"rules": [{"name": "a\u001b[0m", "pattern": "Relu"}]})j",
       "it: 'rules[0].name' " + name},
      {R"j({"rules": [{"name": "unit", "pattern": "Relu"}]})j",
       "it: 'rules[0].name' must not be 'unit', which stands for regions that targets propose; "
       "choose another"},
      {R"j({"rules": [{"name": "a", "pattern": "Relu"}, {"name": "a", "siblings": "Conv"}]})j",
       "it: 'rules[1].name': there is a rule 'a' before it; choose another name"},
      {R"j({"rules": [{"name": "a", "pattern": "Relu(Cnov)"}]})j",
       "it: 'rules[0].pattern', column 6: there is no operator 'Cnov'; did you mean 'Conv'?"},
      {R"j({"rules": [{"name": "a", "siblings": "Matmul"}]})j",
       "it: 'rules[0].siblings': there is no operator 'Matmul'; did you mean 'MatMul'?"},
      {R"j({"rules": [{"name": "a", "nodes": []}]})j", "it: 'rules[0].nodes' must name a node"},
      {R"j({"rules": [{"name": "a", "nodes": "x"}]})j",
       R"(it: 'rules[0].nodes' must be a list, not "x")"},
      {R"j({"rules": [{"name": "a", "nodes": ["x"], "join": "tvm"}]})j",
       "it: 'rules[0]' has join or max_depth, which go with combine alone"},
      {R"j({"rules": [{"name": "layer", "pattern": "Relu"}, {"name": "a", "combine": ["layr"]}]})j",
       "it: 'rules[1].combine' names 'layr', which is no rule before it without combine; did you "
       "mean 'layer'?"},
      {R"j({"rules": [{"name": "a", "combine": ["a"]}]})j",
       "it: 'rules[0].combine' names 'a', which is no rule before it without combine"},
      {R"j({"rules": [{"name": "a", "combine": []}]})j", "it: 'rules[0].combine' must name a rule"},
      {R"j({"rules": [{"name": "a", "pattern": "Relu"},
                     {"name": "b", "combine": ["a"], "join": "glue"}]})j",
       R"(it: 'rules[1].join' must be one of anything, anchors, siblings, tvm, not "glue")"},
      {R"j({"rules": [{"name": "a", "pattern": "Relu"},
                     {"name": "b", "combine": ["a"], "max_depth": 1}]})j",
       "it: 'rules[1].max_depth' must be between 2 and 64, not 1"}};
  for (const auto& [text, wanted] : rows) {
    try {
      (void)ParsePartitionRules(text, "it");
      ADD_FAILURE() << text << " was read";
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), wanted);
    }
  }
  std::string many = R"j({"rules": [)j";
  for (int i = 0; i < 201; ++i) {
    many += (i == 0 ? "" : ", ") + std::string(R"j({"name": "r)j") + std::to_string(i) +
            R"j(", "pattern": "Relu"})j";
  }
  EXPECT_THROW((void)ParsePartitionRules(many + "]}", "it"), UserError);
}

}  // namespace
}  // namespace msc
