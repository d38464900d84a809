// A generated family of problems on which the mistakes of the original Collage show: what it
// chooses against what the exact search chooses, counted. The seeds are the loop's numbers.
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/partition/rules/rule.h"
#include "compiler/partition/search/search.h"
#include "tests/support/collage_rules.h"
#include "tests/support/cover.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

using Members = std::vector<std::size_t>;
using test::AddCandidate;
using test::Chain;
using test::Flow;

constexpr std::uint64_t kSeeds = 60;

/// One graph and costs, with the candidates that are there and with those that the original makes.
struct Pair {
  CoverProblem complete;
  CoverProblem original;
};

/// A random tree of unary operators that additions join: each addition reads two results so far
/// that nobody reads yet, or, for "wide", all are joined at the end, from branches of equal length.
DataflowGraph Tree(bool wide, Rng& rng) {
  std::vector<std::vector<int>> reads;
  std::vector<std::pair<std::string, OpKind>> ops;
  std::vector<int> open;
  const auto add = [&](std::vector<int> from) {
    const bool joins = from.size() == 2;
    ops.emplace_back(joins ? "add" : "relu", joins ? OpKind::kBroadcast : OpKind::kElementwise);
    reads.push_back(std::move(from));
    return static_cast<int>(reads.size()) - 1;
  };
  const std::size_t branches = wide ? 3 + rng.Below(2) : 2 + rng.Below(3);
  for (std::size_t b = 0; b < branches; ++b) {
    int at = -1;
    const std::size_t length = wide ? 3 : 1 + rng.Below(3);
    for (std::size_t k = 0; k < length; ++k) at = add({at});
    open.push_back(at);
  }
  while (open.size() > 1) {
    int joined = add({open[open.size() - 2], open.back()});
    open.resize(open.size() - 2);
    if (!wide && rng.Below(2) == 0) joined = add({joined});
    open.push_back(joined);
  }
  return Flow(reads, ops);
}

/// Of a region: the sum of what its nodes cost the target, each further one at `rate` of the one
/// before, as section 7.3 of the oracles has it.
void AddOffers(CoverProblem& problem, const std::string& target, const Rule& rule,
               const std::vector<double>& each, double rate) {
  for (const SubGraph& sub_graph : rule(problem.flow)) {
    double sum = 0;
    double factor = 1;
    sub_graph.inside.ForEach([&](std::size_t node) {
      sum += each[node] * factor;
      factor *= rate;
    });
    AddCandidate(problem, sub_graph.inside.Members(), target, sum);
  }
}

/// Two targets over a tree, by rules that join all and by those of the original. The second fuses
/// anything, four deep.
Pair OverATree(bool wide, Rng& rng) {
  Pair pair;
  pair.complete.flow = Tree(wide, rng);
  pair.original.flow = pair.complete.flow;
  const std::size_t count = pair.complete.flow.size();
  std::vector<double> native(count);
  std::vector<double> library(count);
  for (std::size_t i = 0; i < count; ++i) {
    native[i] = 4 + 2 * rng.Uniform();
    library[i] = 5 + 2 * rng.Uniform();
  }
  const std::vector<PatternPtr> patterns = {Call("relu", {Any()}), Call("add", {Any(), Any()})};
  for (auto* problem : {&pair.complete, &pair.original}) {
    const test::Joins joins =
        problem == &pair.complete ? test::Joins::kAll : test::Joins::kAsCollage;
    AddOffers(*problem, "native", test::GeneratedCodeRule(4, joins), native, 0.9);
    AddOffers(*problem, "library", test::LibraryRule(patterns, 4, joins), library, 0.8);
  }
  return pair;
}

/// Every run of up to `longest` nodes of a chain on three targets, each good at some of the nodes.
/// Where they keep to blocks of that length, each target has one region for a whole block.
CoverProblem Runs(Rng& rng, std::size_t longest, bool in_blocks) {
  CoverProblem problem{.flow = Chain(12)};
  const std::size_t count = problem.flow.size();
  for (const char* target : {"x", "y", "z"}) {
    std::vector<double> each(count);
    for (double& micros : each) micros = rng.Below(3) == 0 ? 1 : 3 + 2 * rng.Uniform();
    for (std::size_t begin = 0; begin < count; ++begin) {
      double sum = 0.5;
      Members nodes;
      const std::size_t limit = in_blocks ? (begin / longest + 1) * longest : begin + longest;
      for (std::size_t end = begin; end < std::min(count, limit); ++end) {
        sum += each[end];
        nodes.push_back(end);
        AddCandidate(problem, nodes, target, sum);
      }
    }
  }
  return problem;
}

/// Runs where each target has a form of its own for what it reads and makes.
CoverProblem RunsWithForms(Rng& rng) {
  CoverProblem problem = Runs(rng, 5, false);
  problem.labels = {"dense", "x", "y", "z"};
  for (Label from = 0; from < 4; ++from) {
    for (Label to = 0; to < 4; ++to) {
      if (from != to) problem.conversions.Set(from, to, 0.2 + 2 * rng.Uniform());
    }
  }
  for (CandidateRegion& candidate : problem.candidates) {
    const auto own = static_cast<Label>(candidate.target[0] - 'x' + 1);
    for (const FlowIndex tensor : TensorsIn(problem.flow, candidate.nodes)) {
      candidate.wants.push_back({tensor, own});
    }
    for (const FlowIndex tensor : TensorsOut(problem.flow, candidate.nodes)) {
      candidate.makes.push_back({tensor, own});
    }
  }
  return problem;
}

/// Runs in blocks, of which each target refuses one in five.
CoverProblem RunsWithRefusals(Rng& rng) {
  CoverProblem problem = Runs(rng, 3, true);
  for (CandidateRegion& candidate : problem.candidates) {
    if (candidate.nodes.Count() > 1 && rng.Below(5) == 0) {
      candidate.cost = Cost::Invalid("refused");
    }
  }
  return problem;
}

Pair MakePair(const std::string& family, std::uint64_t seed) {
  Rng rng(seed);
  if (family == "fan-in") return OverATree(false, rng);
  if (family == "wide") return OverATree(true, rng);
  CoverProblem problem = family == "pruning"      ? Runs(rng, 3, true)
                         : family == "conversion" ? RunsWithForms(rng)
                                                  : RunsWithRefusals(rng);
  return {problem, problem};
}

/// What came of a baseline on a family.
struct Tally {
  int better = 0;      ///< problems on which the exact search finds less
  int none = 0;        ///< on which it finds a cover and the baseline none
  double percent = 0;  ///< by how much the baseline is dearer, geometric mean over those with both
};

struct FamilyCase {
  std::string family;
  Tally collage;
  Tally paper;
};
void PrintTo(const FamilyCase& row, std::ostream* out) {
  *out << row.family;
}
class Families : public testing::TestWithParam<FamilyCase> {};

TEST_P(Families, ShowWhatTheOriginalLoses) {
  const FamilyCase& row = GetParam();
  for (const char* search : {"collage", "paper"}) {
    Tally tally;
    double logs = 0;
    for (std::uint64_t seed = 0; seed < Seeds(kSeeds); ++seed) {
      const Pair pair = MakePair(row.family, seed);
      const Result<Cover> exact = FindCover(pair.complete, "exact");
      ASSERT_TRUE(exact.ok()) << exact.failure().detail;
      EXPECT_EQ(exact.value().gap(), 0);
      SearchOptions options;
      options.graph_target = pair.complete.candidates.back().target;
      options.generations = 10;
      options.region_micros = 0.5;
      const Result<Cover> other = FindCover(pair.original, search, options);
      if (!other.ok()) {
        ++tally.none;
        continue;
      }
      EXPECT_LE(exact.value().micros, other.value().micros + 1e-9) << search << seed;
      tally.better += exact.value().micros < other.value().micros - 1e-6 ? 1 : 0;
      logs += std::log(other.value().micros / exact.value().micros);
    }
    if (Sampled()) continue;  // of fewer seeds
    const int both = static_cast<int>(kSeeds) - tally.none;
    if (both > 0) tally.percent = 100 * (std::exp(logs / both) - 1);
    const Tally& expected = std::string(search) == "collage" ? row.collage : row.paper;
    EXPECT_EQ(tally.better, expected.better) << search;
    EXPECT_EQ(tally.none, expected.none) << search;
    EXPECT_NEAR(tally.percent, expected.percent, 0.051) << search;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds0To59, Families,
                         testing::Values(FamilyCase{"fan-in", {53, 0, 9.2}, {53, 0, 9.3}},
                                         FamilyCase{"wide", {60, 0, 11.1}, {60, 0, 11.2}},
                                         FamilyCase{"pruning", {58, 0, 17.0}, {35, 0, 0.8}},
                                         FamilyCase{"conversion", {55, 0, 6.1}, {38, 0, 2.2}},
                                         FamilyCase{"refusal", {56, 3, 22.9}, {33, 0, 0.7}}),
                         [](const testing::TestParamInfo<FamilyCase>& row) {
                           std::string name = row.param.family;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace msc
