// What a study does to a problem before it searches, on chains and on random problems of up to 10
// nodes against all their covers: boundaries that are priced, pins that are kept by leaving
// candidates out, and candidates that are ruled out.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/boundary.h"
#include "cost/partition/learned_study.h"
#include "cost/partition/propose.h"
#include "tests/support/random_cover.h"
#include "tests/support/seeds.h"

namespace msc::cost {
namespace {

using test::BruteForce;
using test::RandomProblem;

const std::uint64_t kSeeds = Seeds(1000);

/// A chain of `n` nodes whose tensors have `bytes` bytes, one candidate a node.
CoverProblem Chain(std::size_t n, std::int64_t bytes) {
  std::vector<FlowNode> nodes;
  std::vector<FlowTensor> tensors;
  for (std::size_t i = 0; i < n; ++i) {
    FlowNode node{.name = "n" + std::to_string(i)};
    if (i > 0) node.inputs = {static_cast<FlowIndex>(i - 1)};
    node.outputs = {static_cast<FlowIndex>(i)};
    nodes.push_back(std::move(node));
    tensors.push_back({.name = "t" + std::to_string(i), .bytes = bytes, .leaves = i + 1 == n});
  }
  CoverProblem problem;
  problem.flow = DataflowGraph(std::move(nodes), std::move(tensors));
  for (std::size_t i = 0; i < n; ++i) {
    problem.candidates.push_back({.nodes = IndexSet::Range(n, i, i + 1), .target = "a"});
    problem.candidates.back().cost = Cost::Micros(10);
  }
  for (std::size_t end = 2; end <= n; ++end) {
    problem.candidates.push_back({.nodes = IndexSet::Range(n, 0, end), .target = "a"});
    problem.candidates.back().cost = Cost::Micros(10);
  }
  return problem;
}

TimedPlan Plan(std::vector<std::uint32_t> chosen, double predicted, double measured) {
  TimedPlan plan;
  plan.chosen = std::move(chosen);
  plan.predicted_micros = predicted;
  plan.measured_micros = measured;
  return plan;
}

TEST(Boundary, IsWhatWholePlansTakeMoreThanTheirRegions) {
  CoverProblem problem = Chain(4, 1000);
  // 0+1+2+3: three boundaries; 01+2+3: two; 012+3: one. All cost 5 us each.
  std::vector<TimedPlan> plans = {Plan({0, 1, 2, 3}, 40, 55), Plan({4, 2, 3}, 30, 40),
                                  Plan({5, 3}, 20, 25), Plan({}, 50, 100), Plan({}, 9, 9)};
  const BoundaryCost one = FitBoundary(problem, plans);
  // Regions and bytes grow together here: either may explain it, and both give the same plans.
  EXPECT_NEAR(one.micros_per_region + 1000 * one.micros_per_byte, 5, 1e-9);
  EXPECT_EQ(one.scale, 1);
  // Where all costs are off by a part, that is not what boundaries cost.
  for (TimedPlan& plan : plans) *plan.measured_micros *= 1.2;
  const BoundaryCost off = FitBoundary(problem, plans);
  EXPECT_NEAR(off.scale, 1.2, 1e-9);
  EXPECT_NEAR(off.micros_per_region + 1000 * off.micros_per_byte, 5, 1e-9);
  for (TimedPlan& plan : plans) {
    plan.measured_micros = *plan.predicted_micros * (plan.chosen.empty() ? 1 : 0.9);
  }
  const BoundaryCost none = FitBoundary(problem, plans);
  EXPECT_EQ(none.micros_per_region, 0) << "a boundary earns nothing";
  EXPECT_EQ(none.micros_per_byte, 0);
  EXPECT_EQ(FitBoundary(problem, {}).micros_per_region, 0);
  EXPECT_EQ(FitBoundary(problem, {Plan({}, 1, 100)}).scale, 1.25) << "no more than that";
}

TEST(RuledOut, LeavesACoverOfLeastCost) {
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    constexpr std::size_t kNodes = 5;
    CoverProblem problem = Chain(kNodes, 100);
    problem.candidates.clear();
    std::vector<std::optional<CostRange>> ranges;
    for (const char* target : {"a", "b", "c"}) {
      for (std::size_t begin = 0; begin < kNodes; ++begin) {
        for (std::size_t end = begin + 1; end <= kNodes; ++end) {
          const double micros = 1 + 20 * rng.Uniform();
          problem.candidates.push_back({.nodes = IndexSet::Range(kNodes, begin, end),
                                        .target = target,
                                        .cost = Cost::Micros(micros)});
          ranges.emplace_back();
          if (rng.Below(5) == 0) continue;
          ranges.back() = CostRange{micros * (1 - 0.5 * rng.Uniform()), micros * 1.2};
          if (rng.Below(5) == 0) ranges.back() = CostRange{micros, micros};
        }
      }
    }
    const auto rivals = RuledOut(problem, ranges);
    CoverProblem rest = problem;
    std::size_t count = 0;
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      if (!rivals[i]) continue;
      ++count;
      EXPECT_FALSE(rivals[*rivals[i]]);
      EXPECT_LT(problem.candidates[*rivals[i]].cost.micros(), problem.candidates[i].cost.micros());
      rest.candidates[i].cost = Cost::Invalid("ruled out");
    }
    EXPECT_GT(count, 0U);
    EXPECT_EQ(FindCover(rest, "exact", {}).value().micros,
              FindCover(problem, "exact", {}).value().micros);
  }
}

TEST(RuledOut, ComparesWhatCanTakeEachOthersPlace) {
  CoverProblem problem = Chain(2, 100);
  problem.candidates = {{.nodes = IndexSet::Range(2, 0, 1), .target = "a"},
                        {.nodes = IndexSet::Range(2, 0, 2), .target = "b"},
                        {.nodes = IndexSet::Range(2, 0, 1), .target = "b", .makes = {{0, 1}}},
                        {.nodes = IndexSet::Range(2, 0, 1), .target = "c"}};
  const std::vector<std::optional<CostRange>> ranges = {CostRange{5, 6}, CostRange{1, 1},
                                                        CostRange{1, 1}, CostRange{6, 9}};
  for (const auto& rival : RuledOut(problem, ranges))
    EXPECT_FALSE(rival) << "6 may be as much as 6";
}

TEST(CoverPrices, OfBoundariesAreInTheBestCover) {
  std::uint64_t fewer = 0;  // regions than where boundaries are free
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const CoverProblem problem = RandomProblem(seed);
    Rng rng(seed);
    const BoundaryCost price{.micros_per_region = static_cast<double>(rng.Below(50)) / 10,
                             .micros_per_byte = static_cast<double>(rng.Below(5)) / 10};
    std::vector<double> costs;
    const BruteForce brute(problem);
    for (const std::vector<std::uint32_t>& chosen : brute.exact()) {
      const std::optional<double> free = test::CostByDefinition(problem, chosen);
      if (!free) continue;
      double sum = *free + price.micros_per_region * static_cast<double>(chosen.size());
      for (const std::uint32_t i : chosen) {
        const IndexSet& nodes = problem.candidates[i].nodes;
        for (const FlowTensor& tensor : problem.flow.tensors()) {
          if (tensor.producer == kNoFlow || !nodes.Contains(tensor.producer)) continue;
          const bool crosses =
              tensor.leaves || std::any_of(tensor.readers.begin(), tensor.readers.end(),
                                           [&](FlowIndex node) { return !nodes.Contains(node); });
          if (crosses) sum += price.micros_per_byte * static_cast<double>(tensor.bytes);
        }
      }
      costs.push_back(sum);
    }
    const Result<Cover> found = FindCover(WithBoundaries(problem, price), "exact");
    ASSERT_EQ(found.ok(), !costs.empty()) << seed;
    if (!found.ok()) continue;
    EXPECT_NEAR(found.value().micros, *std::min_element(costs.begin(), costs.end()), 1e-6) << seed;
    const std::size_t free = FindCover(problem, "exact").value().chosen.size();
    fewer += found.value().chosen.size() < free ? 1 : 0;
  }
  EXPECT_GT(fewer, kSeeds / 20) << "a price changes what is best";
}

TEST(CoverPrices, OfKeptPinsAreThoseOfTheConditions) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    Rng rng(seed);
    for (int pins = 0; pins < 2; ++pins) {
      const auto node = static_cast<FlowIndex>(rng.Below(problem.flow.size()));
      problem.conditions.pins[node] = {rng.Below(2) == 0 ? "a" : "b"};
      if (rng.Below(4) == 0) problem.conditions.pins[node] = {"a", "b"};
    }
    const std::vector<double> wanted = BruteForce(problem).costs();
    KeepPins(problem);
    EXPECT_TRUE(problem.conditions.empty());
    EXPECT_EQ(BruteForce(problem).costs(), wanted) << seed;
  }
}

TEST(CoverPrices, OfWhatIsRuledOutAreNotMissed) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    Rng rng(seed);
    // Rivals that want and make the same, at other costs.
    const std::size_t first = problem.candidates.size();
    for (std::size_t i = 0; i < first; ++i) {
      Candidate rival = problem.candidates[i];
      rival.target = "c";
      rival.cost = Cost::Micros(1 + 10 * rng.Uniform());
      if (rng.Below(4) == 0) problem.candidates.push_back(std::move(rival));
    }
    std::vector<std::optional<CostRange>> ranges;
    for (const Candidate& candidate : problem.candidates) {
      ranges.emplace_back();
      if (!candidate.cost.known() || rng.Below(5) == 0) continue;
      const double micros = candidate.cost.micros();
      ranges.back() =
          CostRange{micros * (1 - 0.3 * rng.Uniform()), micros * (1 + 0.3 * rng.Uniform())};
    }
    const std::vector<double> before = BruteForce(problem).costs();
    const auto rivals = RuledOut(problem, ranges);
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      if (!rivals[i]) continue;
      ++count;
      problem.candidates[i].cost = Cost::Invalid("ruled out");
    }
    const std::vector<double> after = BruteForce(problem).costs();
    ASSERT_EQ(after.empty(), before.empty()) << seed;
    if (!after.empty()) {
      EXPECT_EQ(after.front(), before.front()) << seed;
    }
  }
  EXPECT_GT(count, kSeeds);
}

}  // namespace
}  // namespace msc::cost
