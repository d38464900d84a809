// What a study does to a problem before it searches, on chains and on random problems of up to 10
// nodes against all their covers: boundaries that are priced, pins that are kept by leaving
// candidates out, and rivals that turn images.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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

TimedPartition Plan(std::vector<std::uint32_t> chosen, double predicted, double measured) {
  TimedPartition plan;
  plan.chosen = std::move(chosen);
  plan.predicted_micros = predicted;
  plan.measured_micros = measured;
  return plan;
}

TEST(Boundary, IsWhatWholePlansTakeMoreThanTheirRegions) {
  CoverProblem problem = Chain(4, 1000);
  // 0+1+2+3: three boundaries; 01+2+3: two; 012+3: one. All cost 5 us each.
  std::vector<TimedPartition> plans = {Plan({0, 1, 2, 3}, 40, 55), Plan({4, 2, 3}, 30, 40),
                                       Plan({5, 3}, 20, 25), Plan({}, 50, 100), Plan({}, 9, 9)};
  const BoundaryCost one = FitBoundary(problem, plans);
  // Regions and bytes grow together here: either may explain it, and both give the same plans.
  EXPECT_NEAR(one.micros_per_region + 1000 * one.micros_per_byte, 5, 1e-9);
  EXPECT_EQ(one.scale, 1);
  // Where all costs are off by a part, that is not what boundaries cost.
  for (TimedPartition& plan : plans) *plan.measured_micros *= 1.2;
  const BoundaryCost off = FitBoundary(problem, plans);
  EXPECT_NEAR(off.scale, 1.2, 1e-9);
  EXPECT_NEAR(off.micros_per_region + 1000 * off.micros_per_byte, 5, 1e-9);
  for (TimedPartition& plan : plans) {
    plan.measured_micros = *plan.predicted_micros * (plan.chosen.empty() ? 1 : 0.9);
  }
  const BoundaryCost none = FitBoundary(problem, plans);
  EXPECT_EQ(none.micros_per_region, 0) << "a boundary earns nothing";
  EXPECT_EQ(none.micros_per_byte, 0);
  EXPECT_EQ(FitBoundary(problem, {}).micros_per_region, 0);
  EXPECT_EQ(FitBoundary(problem, {Plan({}, 1, 100)}).scale, 1.25) << "no more than that";
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

TEST(CoverPrices, OfADetourAreTheMostThatARivalAdds) {
  std::uint64_t swaps = 0;
  std::uint64_t dearer = 0;  // where turning images costs something
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    Rng rng(seed);
    const BruteForce brute(problem);
    const auto first = static_cast<std::uint32_t>(problem.candidates.size());
    std::vector<std::optional<std::uint32_t>> rivals(first);
    for (std::uint32_t i = 0; i < first; ++i) {
      if (!problem.candidates[i].cost.known()) continue;
      CandidateRegion rival = problem.candidates[i];
      rival.target = "c";
      rival.cost = Cost::Micros(1 + 10 * rng.Uniform());
      const std::size_t labels = problem.labels.size();
      rival.wants = test::RandomLabels(TensorsIn(problem.flow, rival.nodes), labels, rng);
      rival.makes = test::RandomLabels(TensorsOut(problem.flow, rival.nodes), labels, rng);
      rivals[i] = static_cast<std::uint32_t>(problem.candidates.size());
      problem.candidates.push_back(std::move(rival));
    }
    for (std::vector<std::uint32_t> chosen : brute.exact()) {
      const std::optional<double> before = test::CostByDefinition(problem, chosen);
      if (!before || !rivals[chosen.front()]) continue;
      const CandidateRegion& candidate = problem.candidates[chosen.front()];
      const CandidateRegion& rival = problem.candidates[*rivals[chosen.front()]];
      const double detour = DetourBound(problem, candidate, rival);
      if (std::isinf(detour)) continue;
      chosen.front() = *rivals[chosen.front()];
      const std::optional<double> after = test::CostByDefinition(problem, chosen);
      ASSERT_TRUE(after) << seed;
      const double more = *after - *before - (rival.cost.micros() - candidate.cost.micros());
      EXPECT_LE(more, detour + 1e-6) << seed;
      ++swaps;
      dearer += more > 1e-6 ? 1 : 0;
    }
  }
  EXPECT_GT(swaps, kSeeds);
  EXPECT_GT(dearer, kSeeds / 10);
}

}  // namespace
}  // namespace msc::cost
