// A thousand random problems of up to 10 nodes, with taps, regions of several exits, labels and
// side conditions: what every function that promises an optimum, or a check, says of them against
// all their covers one by one.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/lazy.h"
#include "compiler/partition/search/search.h"
#include "tests/support/random_cover.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

using test::BruteForce;
using test::RandomProblem;
using Chosen = std::vector<std::uint32_t>;

const std::uint64_t kSeeds = Seeds(1000);

/// Limits of one target, of each, or of both together; pins of up to two nodes to one or either.
void AddConditions(CoverProblem& problem, std::uint64_t seed) {
  Rng rng(seed + kSeeds);
  const auto most = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(rng.Below(below));
  };
  std::vector<RegionLimit>& limits = problem.conditions.max_regions;
  switch (rng.Below(4)) {
    case 0:
      limits = {{{"b"}, most(3)}};
      break;
    case 1:
      limits = {{{"a", "b"}, 1 + most(6)}};
      break;
    case 2:
      limits = {{{"a"}, most(5)}, {{"b"}, most(3)}};
      break;
    default:
      break;
  }
  for (std::uint64_t pins = rng.Below(3); pins > 0; --pins) {
    const auto node = static_cast<FlowIndex>(rng.Below(problem.flow.size()));
    const std::vector<std::vector<std::string>> whom = {{"a"}, {"b"}, {"a", "b"}};
    problem.conditions.pins[node] = whom[rng.Below(whom.size())];
  }
}

void ExpectOptimal(const CoverProblem& problem, const Result<Cover>& found, const BruteForce& brute,
                   const std::string& what) {
  ASSERT_EQ(found.ok(), !brute.costs().empty())
      << what << ": " << (found.ok() ? "a cover" : found.failure().detail);
  if (!found.ok()) return;
  EXPECT_NEAR(found.value().micros, brute.costs().front(), 1e-9) << what;
  EXPECT_EQ(found.value().gap(), 0) << what;
  const Result<double> checked = CheckCover(problem, found.value().chosen);
  ASSERT_TRUE(checked.ok()) << what << ": " << checked.failure().detail;
  EXPECT_NEAR(checked.value(), brute.costs().front(), 1e-9) << what;
}

/// The same with costs that nobody knows, but that they are at least a part of what they are.
Result<Cover> FindLazily(const CoverProblem& problem, std::uint64_t seed) {
  CoverProblem lazy = problem;
  Rng rng(seed);
  for (CandidateRegion& candidate : lazy.candidates) {
    const double bound = candidate.cost.known() ? candidate.cost.micros() * rng.Uniform() : 0;
    candidate.cost = Cost::Unknown(bound);
  }
  const auto oracle = [&](std::span<const std::uint32_t> candidates) {
    std::vector<Cost> costs;
    for (const std::uint32_t i : candidates) costs.push_back(problem.candidates[i].cost);
    return costs;
  };
  return FindCoverLazily(lazy, oracle, {}, {.part = 0.5});
}

bool HasIlp() {
  return std::any_of(CoverSearches().begin(), CoverSearches().end(),
                     [](const Search& search) { return search.name == "ilp"; });
}

TEST(Agreement, OfSearchesThatKeepConditions) {
  std::uint64_t with = 0;
  std::uint64_t without = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    AddConditions(problem, seed);
    const BruteForce brute(problem);
    (brute.costs().empty() ? without : with) += 1;
    const std::string of = " on seed " + std::to_string(seed);
    ExpectOptimal(problem, FindCover(problem, "exact"), brute, "exact" + of);
    ExpectOptimal(problem, FindLazily(problem, seed), brute, "lazy" + of);
    const Result<Cover> beam = FindCover(problem, "beam");
    if (beam.ok()) {
      ASSERT_FALSE(brute.costs().empty()) << of;
      EXPECT_GE(beam.value().micros, brute.costs().front() - 1e-9) << of;
      EXPECT_LE(beam.value().lower_bound, brute.costs().front() + 1e-9) << of;
    }
    if (!HasIlp()) continue;
    ExpectOptimal(problem, FindCover(problem, "ilp"), brute, "ilp" + of);
    problem.conditions.max_bytes = static_cast<std::int64_t>(seed % 13);
    ExpectOptimal(problem, FindCover(problem, "ilp"), BruteForce(problem), "ilp with bytes" + of);
  }
  EXPECT_GT(with, kSeeds / 4);
  EXPECT_GT(without, kSeeds / 10);
}

TEST(Agreement, OfTheBestCoversWithAllInOrder) {
  std::uint64_t with_twins = 0;  // problems where some candidates cover the same
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    if (seed % 2 == 1) AddConditions(problem, seed);
    const BruteForce brute(problem);
    std::set<IndexSet> regions;
    for (const CandidateRegion& candidate : problem.candidates) regions.insert(candidate.nodes);
    with_twins += regions.size() < problem.candidates.size() ? 1 : 0;
    const Result<std::vector<Cover>> found = FindBestCovers(problem, 4);
    ASSERT_EQ(found.ok(), !brute.costs().empty()) << seed;
    if (!found.ok()) continue;
    ASSERT_EQ(found.value().size(), std::min<std::size_t>(4, brute.costs().size())) << seed;
    std::set<Chosen> distinct;
    for (std::size_t i = 0; i < found.value().size(); ++i) {
      const Cover& cover = found.value()[i];
      EXPECT_NEAR(cover.micros, brute.costs()[i], 1e-9) << seed << " " << i;
      EXPECT_TRUE(CheckCover(problem, cover.chosen).ok()) << seed << " " << i;
      Chosen sorted = cover.chosen;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_TRUE(distinct.insert(sorted).second) << seed << " " << i;
    }
  }
  EXPECT_GT(with_twins, kSeeds / 10);
}

TEST(Agreement, OfWhatChecksACoverWithTheDefinition) {
  std::uint64_t refused = 0;
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    if (seed % 2 == 1) AddConditions(problem, seed);
    if (seed % 3 == 1) problem.conditions.max_bytes = static_cast<std::int64_t>(seed % 13);
    const BruteForce brute(problem);
    for (const Chosen& chosen : brute.exact()) {
      const std::optional<double> wanted = test::CostByDefinition(problem, chosen);
      const Result<Chosen> order = ExecutionOrder(problem, chosen);
      const Result<double> got =
          order.ok() ? CheckCover(problem, order.value()) : Result<double>(order.failure());
      ASSERT_EQ(got.ok(), wanted.has_value()) << seed;
      if (wanted) {
        EXPECT_NEAR(got.value(), *wanted, 1e-9) << seed;
      }
      (wanted ? accepted : refused) += 1;
    }
  }
  EXPECT_GT(refused, kSeeds);
  EXPECT_GT(accepted, kSeeds);
}

// It knows neither conversions nor circles: the least sum of an exact cover, unless it gets stuck.
TEST(Agreement, OfThePathOfTheOriginalWithTheLeastSum) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const CoverProblem problem = RandomProblem(seed);
    Chosen all(problem.candidates.size());
    std::iota(all.begin(), all.end(), 0U);
    const Result<CollagePath> path = SearchAsCollage(problem, all);
    if (!path.ok()) continue;
    ++found;
    double least = -1;
    const BruteForce brute(problem);
    for (const Chosen& chosen : brute.exact()) {
      Cost sum = Cost::Micros(0);
      for (const std::uint32_t i : chosen) sum += problem.candidates[i].cost;
      if (sum.known() && (least < 0 || sum.micros() < least)) least = sum.micros();
    }
    EXPECT_NEAR(path.value().micros, least, 1e-9) << seed;
  }
  EXPECT_GT(found, kSeeds / 4);
}

}  // namespace
}  // namespace msc
