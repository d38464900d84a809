// Patterns as text: what they match in graphs of this compiler, and what is refused with what
// words.
#include "compiler/partition/rules/pattern_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/support/random_graph.h"

namespace msc {
namespace {

constexpr const char* kModel = R"(graph main {
  input %x : f32[1,4,8,8]
  const %w1 : f32[4,4,3,3] = random 1
  const %b1 : f32[4] = random 2
  const %w2 : f32[4,4,1,1] = random 3
  const %half : f32[1] = [0.5]
  %a = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]} : f32[1,4,8,8]
  %b = Relu(%a) @relu1 : f32[1,4,8,8]
  %c = Conv(%b, %w2) @conv2 : f32[1,4,8,8]
  %h = Mul(%half, %c) @half : f32[1,4,8,8]
  %d = Add(%b, %h) @add : f32[1,4,8,8]
  %e = Tanh(%d) @tanh : f32[1,4,8,8]
  %f = Sub(%e, %a) @sub : f32[1,4,8,8]
  output %f
})";

std::set<std::string> Matching(const DataflowGraph& flow, const std::string& text) {
  const PatternPtr pattern = ParsePattern(text, "it");
  std::set<std::string> all;
  for (std::size_t root = 0; root < flow.size(); ++root) {
    for (const IndexSet& nodes : FindMatches(flow, *pattern, root)) {
      std::string names;
      nodes.ForEach(
          [&](std::size_t i) { names += (names.empty() ? "" : "+") + flow.node(i).name; });
      EXPECT_TRUE(all.insert(names).second) << text << " matches " << names << " twice";
    }
  }
  return all;
}

TEST(PatternText, MatchesWhatItSays) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const std::vector<std::pair<std::string, std::set<std::string>>> rows = {
      {"Conv", {"conv1", "conv2"}},
      {"Conv(*)", {"conv1", "conv2"}},          // weights behind the last need not be written
      {"Conv(*, $const)", {"conv1", "conv2"}},  // nor a bias
      {"Conv(*, *, $const)", {"conv1"}},        // but this asks for one
      {"Conv($const)", {}},                     // an image is none
      {"Conv(Relu)", {"relu1+conv2"}},
      {" Relu ( Conv ( * ) ) ", {"conv1+relu1"}},
      {"Relu(Conv(Relu))", {}},
      {"Relu?(Conv)", {"conv1", "conv2", "conv1+relu1"}},
      {"Mul(Conv, $const)", {"conv2+half"}},  // the weight comes first
      {"Mul($const, Conv)", {"conv2+half"}},
      {"Mul($const)", {}},            // the image behind it has to be written
      {"Add(Mul, *)", {"half+add"}},  // either way
      {"Add(*, Mul)", {"half+add"}},
      {"Sub(Tanh, *)", {"tanh+sub"}},
      {"Sub(*, Tanh)", {}},  // but not of this
      {"Add?(Mul?(Conv, *), Relu)", {"conv1", "conv2", "conv2+half", "relu1+conv2+half+add"}},
      {"Tanh | Sub(*, *) | Exp", {"tanh", "sub"}},
      {"Relu((Conv | Add))", {"conv1+relu1"}},
      {"Tanh(Add(Relu|Conv, *))", {"relu1+add+tanh"}},
  };
  for (const auto& [text, wanted] : rows) EXPECT_EQ(Matching(flow, text), wanted) << text;
}

TEST(PatternText, IsRefusedWithPlaceAndRemedy) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "it, column 1: an operator, '*', '$const' or '(' belongs here, where the text ends"},
      {"Reluu(*)", "it, column 1: there is no operator 'Reluu'; did you mean 'Relu'?"},
      {"Relu(conv)", "it, column 6: there is no operator 'conv'; did you mean 'Conv'?"},
      {"Relu(Conv", "it, column 10: ')' or ',' belongs here, where the text ends"},
      {"Relu(Conv))", "it, column 11: '|' or the end belongs here, not ')'"},
      {"Relu Conv", "it, column 6: '|' or the end belongs here, not 'C'"},
      {"(Relu", "it, column 6: ')' belongs here, where the text ends"},
      {"Add(*,)", "it, column 7: an operator, '*', '$const' or '(' belongs here, not ')'"},
      {"Relu?", "it, column 6: write what Relu may be wrapped around: Relu?(...)"},
      {"Relu?()", "it, column 7: an operator, '*', '$const' or '(' belongs here, not ')'"},
      {"Relu(\x07)", "it, column 6: an operator, '*', '$const' or '(' belongs here, not byte 0x07"},
      {"Relu(\xff", "it, column 6: an operator, '*', '$const' or '(' belongs here, not byte 0xff"},
      {"*",
       "it may match without a node; write an operator, such as Relu(*), in each of its "
       "alternatives"},
      {"Conv | Relu?(*)",
       "it may match without a node; write an operator, such as Relu(*), in each "
       "of its alternatives"},
      {std::string(33, '('), "it, column 33: this is nested deeper than 32 levels"},
      {std::string(2001, ' '), "it has 2001 bytes; write one of at most 2000"}};
  for (const auto& [text, wanted] : rows) {
    try {
      (void)ParsePattern(text, "it");
      ADD_FAILURE() << text << " was read";
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), wanted);
    }
  }
  std::string many = "Or";
  for (int i = 0; i < 665; ++i) many += "|Or";
  EXPECT_NO_THROW((void)ParsePattern(many, "it"));
}

/// A graph of operators with one or two operands, each an earlier value or a weight.
Graph Grown(Rng& rng) {
  const std::vector<std::string> ops = {"Relu", "Tanh", "Add", "Mul", "Sub"};
  std::string text = "graph g {\n  input %v0 : f32[4]\n  const %w : f32[4] = random 1\n";
  const std::size_t count = 4 + rng.Below(8);
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string& op = ops[rng.Below(ops.size())];
    const auto value = [&] { return "%v" + std::to_string(rng.Below(i)); };
    std::string operands = value();
    if (op.size() == 3) {
      const bool weight = rng.Below(3) == 0;
      operands = weight ? (rng.Below(2) == 0 ? "%w, " + operands : operands + ", %w")
                        : operands + ", " + value();
    }
    text += "  %v" + std::to_string(i) + " = " + op + "(" + operands + ") @n" + std::to_string(i) +
            " : f32[4]\n";
  }
  return ParseGraph(text + "  output %v" + std::to_string(count) + "\n}");
}

/// What is computed at `node`, as a pattern, cut off at random; `nodes` gets what it names.
std::string Written(const Graph& graph, const DataflowGraph& flow, FlowIndex node, Rng& rng,
                    IndexSet& nodes) {
  nodes.Insert(node);
  const FlowNode& here = flow.node(node);
  std::vector<std::string> operands;
  for (const ValueId value : graph.node(here.id).inputs) {
    const NodeId producer = graph.producer(value);
    if (graph.constant(value) != nullptr) {
      operands.emplace_back(rng.Below(2) == 0 ? "$const" : "*");
    } else if (producer == kNoNode || rng.Below(3) == 0) {
      operands.emplace_back("*");
    } else {
      operands.push_back(Written(graph, flow, flow.Find(graph.node(producer).name), rng, nodes));
    }
  }
  const bool swap = (here.op == "Add" || here.op == "Mul") && rng.Below(2) == 0;
  if (swap) std::swap(operands[0], operands[1]);
  std::string text = here.op + "(" + operands[0];
  if (operands.size() > 1) text += ", " + operands[1];
  text += ")";
  // Wrapped in what is not there.
  if (rng.Below(5) == 0) text = "Exp?( " + text + ")";
  if (rng.Below(5) == 0) text = "(Exp|" + text + ")";
  return text;
}

TEST(PatternText, FindsWhatAPartOfAGraphIsWrittenAs) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const Graph graph = Grown(rng);
    const DataflowGraph flow(graph);
    for (FlowIndex root = 0; root < flow.size(); ++root) {
      IndexSet nodes = flow.EmptySet();
      const std::string text = Written(graph, flow, root, rng, nodes);
      if (text.size() > 2000) continue;
      std::vector<IndexSet> matches;
      try {
        matches = FindMatches(flow, *ParsePattern(text, "it"), root);
      } catch (const UserError& error) {
        EXPECT_NE(std::string(error.what()).find("nested deeper"), std::string::npos) << text;
        continue;
      }
      EXPECT_NE(std::find(matches.begin(), matches.end(), nodes), matches.end())
          << text << " at " << root << " of\n"
          << Print(graph);
      ++found;
    }
  }
  EXPECT_GT(found, 1500U);
}

TEST(PatternText, OfAnyBytesIsReadOrRefused) {
  const Graph graph = ParseGraph(kModel);
  const DataflowGraph flow(graph);
  const std::vector<std::string> words = {"Relu",   "Conv", "Add", "Sub", "?",
                                          "(",      ")",    "((",  "*",   "|",
                                          "$const", "$",    ",",   " ",   "msc.Gelu"};
  std::size_t read = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Rng rng(seed);
    std::string text;
    for (std::uint64_t n = rng.Below(12); n-- > 0;) text += words[rng.Below(words.size())];
    if (seed % 4 == 0) text = Mutated("Relu?(Add?(Conv(*, $const), (Mul | Tanh)))", rng);
    try {
      const PatternPtr pattern = ParsePattern(text, "it");
      for (std::size_t root = 0; root < flow.size(); ++root) {
        for (const IndexSet& nodes : FindMatches(flow, *pattern, root)) {
          EXPECT_TRUE(nodes.Contains(root)) << text;
        }
      }
      ++read;
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("it")) << error.what();
    }
  }
  EXPECT_GT(read, 500U);
}

TEST(PatternText, ThatMatchesInExponentiallyManyWaysEnds) {
  // Each Add reads the one before it twice, and each level of the pattern has two ways to match.
  std::string text = "graph g {\n  input %v0 : f32[4]\n";
  constexpr int kCount = 40;
  for (int i = 1; i <= kCount; ++i) {
    const std::string from = "%v" + std::to_string(i - 1);
    text += "  %v" + std::to_string(i) + " = Add(" + from + ", " + from + ") : f32[4]\n";
  }
  const Graph graph = ParseGraph(text + "  output %v" + std::to_string(kCount) + "\n}");
  const DataflowGraph flow(graph);
  std::string pattern = "*";
  for (int i = 0; i < 30; ++i) pattern = "Add(" + pattern + ", (Add|*))";
  const PatternPtr parsed = ParsePattern(pattern, "it");
  for (std::size_t root = 0; root < flow.size(); ++root) {
    EXPECT_LE(FindMatches(flow, *parsed, root).size(), 1000U);
  }
}

}  // namespace
}  // namespace msc
