#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::ExpectSound;
using testing::Parse;
using testing::Skeleton;

bool CanonicalizeChanges(Graph& graph) {
  const Graph before = graph;
  Canonicalize(graph);
  return !SameGraph(before, graph);
}

/// The canonical passes by name, and all of them together as "canonicalize".
std::map<std::string, std::function<bool(Graph&)>> PassTable() {
  std::map<std::string, std::function<bool(Graph&)>> table = {
      {"canonicalize", CanonicalizeChanges}};
  for (const Pass& pass : CanonicalPasses()) table.emplace(pass.name, pass.run);
  table.emplace("flatten_branches", [](Graph& graph) { return FlattenBranches(graph); });
  return table;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const auto& [name, run] : PassTable()) names.push_back(name);
  return names;
}

struct Case {
  std::string label;
  std::string before;
  std::string after;        ///< Skeleton; "same" where nothing may change
  double tolerance = 1e-5;  ///< relative for f32 outputs, in quanta for integers
};

/// Reads tests/compiler/passes/cases/PASS.txt. A case is "== LABEL", the text of a graph, "->" (or
/// "-> within TOLERANCE"), and the nodes after the pass or "same". An empty line ends it.
std::vector<Case> CasesOf(const std::string& pass) {
  std::vector<Case> cases;
  std::istringstream lines(ReadFile("tests/compiler/passes/cases/" + pass + ".txt"));
  std::string* part = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("== ")) {
      cases.push_back({.label = line.substr(3), .before = "", .after = ""});
      part = &cases.back().before;
    } else if (part != nullptr && line.starts_with("->")) {
      constexpr std::string_view kWithin = "-> within ";
      if (line.starts_with(kWithin))
        cases.back().tolerance = std::stod(line.substr(kWithin.size()));
      part = &cases.back().after;
    } else if (part != nullptr && !line.empty()) {
      *part += line + "\n";
    }
  }
  return cases;
}

class CanonicalPass : public ::testing::TestWithParam<std::string> {};

TEST_P(CanonicalPass, ChangesTheGraphsOfItsCasesAsListedAndNothingElse) {
  const std::function<bool(Graph&)> pass = PassTable().at(GetParam());
  const std::vector<Case> cases = CasesOf(GetParam());
  EXPECT_TRUE(std::ranges::any_of(cases, [](const Case& one) { return one.after == "same\n"; }));
  EXPECT_TRUE(std::ranges::any_of(cases, [](const Case& one) { return one.after != "same\n"; }));
  for (const Case& one : cases) {
    SCOPED_TRACE(one.label);
    const Graph before = Parse(one.before);
    Graph after = before;
    const bool changed = pass(after);
    const bool same = one.after == "same\n";
    EXPECT_EQ(changed, !same);
    EXPECT_EQ(Skeleton(after), same ? Skeleton(before) : one.after);
    ExpectSound(pass, before, one.tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CanonicalPass, ::testing::ValuesIn(PassNames()),
                         [](const auto& test) { return test.param; });

TEST(UnrollLoops, DoesNotMultiplyLoopsInLoops) {
  // 4,000 times 4,000 times 4,000 nodes, if all of it were written out.
  const auto loop = [](const std::string& inside) {
    return "const %n : i64[] = [4000] const %c : bool[] = [true] %r = Loop(%n, %c, %v) { body = "
           "graph b { input %i : i64[] input %go : bool[] input %v : f32[1] " +
           inside + " output %go, %r } }";
  };
  Graph graph =
      Parse("graph main { input %v : f32[1] " + loop(loop(loop("%r = Neg(%v)"))) + " output %r }");
  Canonicalize(graph);
  EXPECT_LE(graph.order().size(), 20'000U);
  EXPECT_GT(graph.order().size(), 4'000U);
}

TEST(UnrollLoops, KeepsALoopThatNeverEnds) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,3]
    const %go : bool[] = [true]
    %y = Loop(_, %go, %x) { body = graph b {
      input %i : i64[] input %on : bool[] input %v : f32[2,3] %w = Neg(%v) output %on, %w
    } }
    output %y
  })");
  EXPECT_FALSE(PassTable().at("unroll_loops")(graph));
}

TEST(FoldBatchNorm, FoldsConstantsPerChannelToo) {
  const Graph before = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %m : f32[1,4,1,1] = random 2
    const %a : f32[4,1,1] = random 3
    const %s : f32[] = [0.25]
    %c = Conv(%x, %w) @conv
    %d = Mul(%m, %c)
    %e = Add(%d, %a)
    %y = Mul(%e, %s)
    output %y
  })");
  Graph after = before;
  EXPECT_TRUE(FoldBatchNorm(after));
  RemoveDeadCode(after);
  EXPECT_EQ(Skeleton(after), "y:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\n");
  ExpectSound(FoldBatchNorm, before);
}

TEST(FoldBatchNorm, KeepsConstantsThatVaryAlongOtherAxes) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %row : f32[4] = random 2
    %c = Conv(%x, %w) @conv
    %y = Mul(%c, %row)
    output %y
  })");
  Graph after = graph;
  EXPECT_FALSE(FoldBatchNorm(after));
  EXPECT_TRUE(SameGraph(graph, after));
}

TEST(FoldBatchNorm, LeavesWeightsThatAnotherLayerShares) {
  const Graph before = Parse(R"(graph main {
    input %x : f32[2,4,4,4]
    const %w : f32[4,4,1,1] = random 1
    const %m : f32[4,1,1] = random 2
    %c = Conv(%x, %w) @a
    %d = Mul(%c, %m)
    %y = Conv(%d, %w) @b
    output %y
  })");
  Graph after = before;
  EXPECT_TRUE(FoldBatchNorm(after));
  EXPECT_EQ(*after.constant(after.FindValue("w")), *before.constant(before.FindValue("w")));
  ExpectSound(FoldBatchNorm, before);
}

TEST(FoldBatchNorm, LeavesANormOfNegativeVariance) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,1,4,4]
    const %w : f32[1,1,1,1] = [1]
    const %one : f32[1] = [1]
    const %var : f32[1] = [-1]
    %c = Conv(%x, %w)
    %y = BatchNormalization(%c, %one, %one, %one, %var)
    output %y
  })");
  EXPECT_FALSE(FoldBatchNorm(graph));
}

// --- Canonicalize ---

TEST(Canonicalize, ReachesAFixpointAndSaysWhatItDid) {
  Graph graph = Parse(R"(graph main {
    input %x : f32[2,3,4,4]
    const %w : f32[4,3,1,1] = random 1
    const %one : f32[4] = splat 1.0
    const %minus : i64[1] = [-1]
    const %zero : i64[] = [0]
    const %axes : i64[1] = [0]
    %c = Conv(%x, %w) @conv
    %i = Identity(%c)
    %n = BatchNormalization(%i, %one, %one, %one, %one) @bn
    %s = Shape(%n)
    %d = Gather(%s, %zero)
    %u = Unsqueeze(%d, %axes)
    %t = Concat(%u, %minus) {axis = 0}
    %y = Reshape(%n, %t)
    output %y
  })");
  const Graph before = graph;
  std::vector<std::string> log;
  Canonicalize(graph, [&](const std::string& line) { log.push_back(line); });
  EXPECT_EQ(Skeleton(graph),
            "c:f32 = Conv(x:f32, w:f32, conv_bias:f32) @conv\n"
            "y:f32 = Reshape(c:f32, t:i64) @Reshape\n");
  EXPECT_EQ(ToString(*graph.type(graph.FindValue("y")).shape), "[2,64]");
  testing::ExpectSameNumbers(before, graph);
  ASSERT_GE(log.size(), 2 * CanonicalPasses().size());
  EXPECT_EQ(log.at(1).substr(0, 28), "remove_identities: changed, ");
  EXPECT_EQ(log.back().substr(0, 29), "flatten_branches: unchanged, ");
  EXPECT_EQ(log.back().substr(log.back().size() - 3), " ms");
  const Graph settled = graph;
  Canonicalize(graph);
  EXPECT_TRUE(SameGraph(settled, graph));
}

TEST(Canonicalize, KeepsWhatNestedGraphsCapture) {
  Graph graph = ParseGraph(R"(graph main {
    input %c : bool[]
    input %x : f32[2]
    const %k : f32[2] = [1, 2]
    const %l : f32[2] = [1, 2]
    %a = Identity(%x) : f32[2]
    %b = Add(%k, %l) : f32[2]
    %y = If(%c) {
      else_branch = graph e { captured %a : f32[2] output %a },
      then_branch = graph t { captured %b : f32[2] output %b }
    } : f32[2]
    output %y
  })");
  const std::string before = Print(graph);
  for (const Pass& pass : CanonicalPasses()) EXPECT_FALSE(pass.run(graph)) << pass.name;
  EXPECT_EQ(Print(graph), before);
}

}  // namespace
}  // namespace msc
