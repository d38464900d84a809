// Whole partitions of TVM's Collage (reference section 7.4) with the mock costs of section 7.3: its
// candidates, path and merged regions, and what the exact searches find among all candidates.
// T-WIDE and T-CYC of section 7.6. What section 7.3 says of candidates and their estimator is in
// tests/cost/candidate_cost_test.cc.
//
// Rows that do not apply: names of functions ("collage_example_target_hook_nn_relu", an empty label
// for what merging alone made, one symbol for equal functions). A plan names its regions by their
// nodes; equal ones are measured once and share kernels by structure, not by a symbol.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/partition/rules/rule.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/search.h"
#include "tests/support/collage_rules.h"
#include "tests/support/expression.h"

namespace msc {
namespace {

using test::GeneratedCodeRule;
using test::GraphNamed;
using test::HostRule;
using test::Joins;
using test::LibraryRule;
using test::Merged;
using test::MergeNeighbours;
using test::Set;

PatternPtr Unary(const std::string& op) {
  return Call(op, {Any()});
}

/// Section 7.3: of a region with k calls base * (1 + rate + ... + rate^(k - 1)).
double Mock(const DataflowGraph& flow, const IndexSet& nodes, double base, double rate) {
  double sum = 0;
  double factor = 1;
  nodes.ForEach([&](std::size_t node) {
    if (!test::IsCall(flow.node(node).op)) return;
    sum += base * factor;
    factor *= rate;
  });
  return sum;
}

struct MockTarget {
  std::string name;
  Rule rule;
  double base;
  double rate = 0.9;
};

CoverProblem MockProblem(const DataflowGraph& flow, const std::vector<MockTarget>& targets) {
  CoverProblem problem{.flow = flow};
  for (const MockTarget& target : targets) {
    for (const SubGraph& sub_graph : target.rule(flow)) {
      const IndexSet& nodes = sub_graph.inside;
      problem.candidates.push_back(
          {.nodes = nodes,
           .target = target.name,
           .cost = Cost::Micros(Mock(flow, nodes, target.base, target.rate))});
    }
  }
  return problem;
}

std::vector<MockTarget> Targets(double llvm, double library, std::size_t llvm_depth,
                                std::size_t library_depth, Joins joins) {
  const std::vector<PatternPtr> patterns = {Unary("relu"), Call("add", {Any(), Any()}),
                                            Unary("concat")};
  return {{"llvm", GeneratedCodeRule(llvm_depth, joins), llvm},
          {"E", LibraryRule(patterns, library_depth, joins), library},
          {"host", HostRule(), 0}};
}

std::size_t CountOf(const CoverProblem& problem, std::string_view target) {
  return static_cast<std::size_t>(
      std::count_if(problem.candidates.begin(), problem.candidates.end(),
                    [&](const CandidateRegion& candidate) { return candidate.target == target; }));
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
  std::string regions;      ///< of the search among the original's candidates
  std::string merged;       ///< and after neighbours were merged
  std::int64_t states = 0;  ///< popped and tried, where the reference has them
  std::int64_t transitions = 0;
  std::string tie = {};  ///< regions of another cover of the same cost, and merged
  std::string tie_merged = {};
};
void PrintTo(const PartitionCase& value, std::ostream* out) {
  *out << value.label;
}
class Partitions : public testing::TestWithParam<PartitionCase> {};

TEST_P(Partitions, AreThoseOfTheOriginal) {
  const PartitionCase& row = GetParam();
  const DataflowGraph flow = GraphNamed(row.graph);
  const CoverProblem original = MockProblem(
      flow, Targets(row.llvm, row.library, row.llvm_depth, row.library_depth, Joins::kAsCollage));
  EXPECT_EQ(CountOf(original, "llvm"), row.llvm_count);
  EXPECT_EQ(CountOf(original, "E"), row.library_count);
  EXPECT_EQ(CountOf(original, "host"), row.host_count);
  const auto kept = PruneAsCollage(original);
  const Result<CollagePath> path = SearchAsCollage(original, kept);
  ASSERT_TRUE(path.ok()) << path.failure().detail;
  EXPECT_NEAR(path.value().micros, row.micros, 1e-9);
  EXPECT_EQ(RegionsOf(original, path.value().chosen, false), row.regions);
  EXPECT_EQ(RegionsOf(original, path.value().chosen, true), row.merged);
  if (row.states > 0) {
    EXPECT_EQ(path.value().states, row.states);
    EXPECT_EQ(path.value().transitions, row.transitions);
  }
}

/// A search that this build has and that proves its answer.
std::vector<std::string> ExactSearches() {
  std::vector<std::string> names;
  for (const Search& search : CoverSearches()) {
    if (search.exact) names.push_back(search.name);
  }
  return names;
}

TEST_P(Partitions, AreTheSameOrAsGoodOfAllCandidates) {
  const PartitionCase& row = GetParam();
  const CoverProblem complete =
      MockProblem(GraphNamed(row.graph),
                  Targets(row.llvm, row.library, row.llvm_depth, row.library_depth, Joins::kAll));
  EXPECT_EQ(CountOf(complete, "llvm"), row.llvm_count);
  EXPECT_EQ(CountOf(complete, "E"), row.library_complete);
  EXPECT_EQ(CountOf(complete, "host"), row.host_count);
  for (const std::string& search : ExactSearches()) {
    const Result<Cover> cover = FindCover(complete, search);
    ASSERT_TRUE(cover.ok()) << cover.failure().detail;
    EXPECT_NEAR(cover.value().micros, row.micros, 1e-9) << search;
    EXPECT_EQ(cover.value().gap(), 0) << search;
    const std::string regions = RegionsOf(complete, cover.value().chosen, false);
    const std::string merged = RegionsOf(complete, cover.value().chosen, true);
    EXPECT_TRUE((regions == row.regions && merged == row.merged) ||
                (regions == row.tie && merged == row.tie_merged))
        << search << ": " << regions << ", merged " << merged;
    EXPECT_EQ(FindCover(complete, search).value().chosen, cover.value().chosen)
        << "ties are broken in one way";
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
                      "E{2} llvm{3,4}", 0, 0, "llvm{2,3} E{4}", "llvm{2,3} E{4}"},
        PartitionCase{"P4_3", "P4", 100, 99, 3, 1, 6, 3, 3, 3, 271, "llvm{2..4}", "llvm{2..4}", 7,
                      12},
        PartitionCase{"P5_1", "P4", 99, 100, 1, 1, 3, 3, 3, 3, 297, "llvm{2} llvm{3} llvm{4}",
                      "llvm{2..4}"},
        PartitionCase{"P5_2", "P4", 99, 100, 1, 2, 3, 5, 3, 5, 289, "llvm{2} E{3,4}",
                      "llvm{2} E{3,4}", 0, 0, "E{2,3} llvm{4}", "E{2,3} llvm{4}"},
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

TEST(Partitions, PruningKeepsTwoOfP10) {  // of 7 + 7, so that two are measured
  const CoverProblem problem =
      MockProblem(GraphNamed("P10"), Targets(2, 1, 4, 4, Joins::kAsCollage));
  const auto kept = PruneAsCollage(problem);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(),
                          [&](std::uint32_t i) { return problem.candidates[i].target != "host"; }),
            2);
  std::vector<std::uint32_t> all(problem.candidates.size());
  std::iota(all.begin(), all.end(), 0U);
  const CollagePath path = SearchAsCollage(problem, all).value();
  EXPECT_EQ(path.states, 9) << "without pruning";
  EXPECT_EQ(path.transitions, 18);
  EXPECT_NEAR(path.micros, 3.439, 1e-9);
}

TEST(Partitions, NeverHoldRegionsThatWaitForEachOther) {  // T-CYC
  const DataflowGraph flow = GraphNamed("cycle");
  CoverProblem problem{.flow = flow};
  const auto add = [&](const test::Members& nodes, const std::string& target, double micros) {
    problem.candidates.push_back(
        {.nodes = Set(flow, nodes), .target = target, .cost = Cost::Micros(micros)});
  };
  for (std::size_t node = 0; node < flow.size(); ++node) {
    const bool call = test::IsCall(flow.node(node).op);
    add({node}, call ? "single" : "host", call ? 2 : 0);
  }
  for (const auto& [nodes, target] :
       std::vector<std::pair<test::Members, std::string>>{{{4, 9}, "p"}, {{6, 7}, "q"}}) {
    const SubGraph region(flow, Set(flow, nodes));
    EXPECT_TRUE(IsConvex(flow, region.inside));
    EXPECT_EQ(region.exit.Count(), 2U);
    add(nodes, target, 1);
  }
  for (const std::string& search : ExactSearches()) {
    EXPECT_EQ(FindCover(problem, search).value().micros, 5) << search;
  }
  EXPECT_EQ(FindCover(problem, "beam").value().micros, 5);
}

TEST(Partitions, OfWideGraphsAreBetterWithAllCandidates) {  // T-WIDE
  const DataflowGraph flow = GraphNamed("wide");
  const std::vector<PatternPtr> patterns = {Unary("relu"), Call("add", {Any(), Any()})};
  const auto problem_of = [&](Joins joins) {
    return MockProblem(flow, {{"native", GeneratedCodeRule(4, joins), 5, 0.9},
                              {"library", LibraryRule(patterns, 4, joins), 6, 0.85},
                              {"host", HostRule(), 0}});
  };
  const CoverProblem original = problem_of(Joins::kAsCollage);
  const CoverProblem complete = problem_of(Joins::kAll);
  EXPECT_EQ(CountOf(original, "native") + CountOf(original, "library"), 126U);
  EXPECT_EQ(CountOf(complete, "native") + CountOf(complete, "library"), 232U);
  EXPECT_NEAR(FindCover(original, "exact").value().micros, 65.135, 5e-4);
  EXPECT_NEAR(FindCover(complete, "exact").value().micros, 61.356, 5e-4);
}

}  // namespace
}  // namespace msc
