// What a study does to a problem before it searches, on random problems of up to 10 nodes against
// all their covers: boundaries that are priced, pins that are kept by leaving candidates out, and
// candidates that are ruled out.
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

constexpr std::uint64_t kSeeds = Seeds(1000);

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
