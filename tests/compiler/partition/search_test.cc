// Every search against brute force on small random problems, and small problems with known optima.
#include "compiler/partition/search/search.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/lazy.h"
#include "tests/support/cover.h"
#include "tests/support/random_cover.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

using Members = std::vector<std::size_t>;
using Chosen = std::vector<std::uint32_t>;
using test::AddCandidate;
using test::BruteForce;
using test::Chain;
using test::Flow;
using test::RandomLabels;
using test::RandomProblem;

void ExpectOptimal(const CoverProblem& problem, const Result<Cover>& found, const BruteForce& brute,
                   const std::string& what) {
  ASSERT_EQ(found.ok(), !brute.costs().empty())
      << what << ": " << (found.ok() ? "a cover" : found.failure().detail);
  if (!found.ok()) return;
  const Cover& cover = found.value();
  EXPECT_NEAR(cover.micros, brute.costs().front(), 1e-9) << what;
  EXPECT_EQ(cover.gap(), 0) << what;
  const Result<double> checked = CheckCover(problem, cover.chosen);
  ASSERT_TRUE(checked.ok()) << what << ": " << checked.failure().detail;
  EXPECT_NEAR(checked.value(), cover.micros, 1e-9) << what;
}

TEST(RandomProblems, ExactSearchesFindWhatBruteForceFinds) {  // T-CERT, T-LAZY
  const std::uint64_t kSeeds = Seeds(1000);
  std::uint64_t covers = 0;
  std::uint64_t without = 0;
  std::size_t spared = 0;  // costs that lazy search never asked for
  std::size_t all = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const CoverProblem problem = RandomProblem(seed);
    const BruteForce brute(problem);
    (brute.costs().empty() ? without : covers) += 1;
    for (const Search& search : CoverSearches()) {
      const std::string what = search.name + " on seed " + std::to_string(seed);
      SearchOptions options;  // for paper's second stage
      options.graph_target = "a";
      options.generations = 3;
      const Result<Cover> found = FindCover(problem, search.name, options);
      if (search.exact) {
        ExpectOptimal(problem, found, brute, what);
      } else if (found.ok()) {
        ASSERT_FALSE(brute.costs().empty()) << what;
        EXPECT_GE(found.value().micros, brute.costs().front() - 1e-9) << what;
        EXPECT_LE(found.value().lower_bound, brute.costs().front() + 1e-9) << what;
      }
    }
    // Costs that are asked for one by one.
    CoverProblem lazy = problem;
    Rng rng(seed);
    for (CandidateRegion& candidate : lazy.candidates) {
      const double bound = candidate.cost.known() ? candidate.cost.micros() * rng.Uniform() : 0;
      candidate.cost = Cost::Unknown(seed % 3 == 0 ? 0 : bound);
    }
    std::set<std::uint32_t> asked;
    const Result<Cover> found =
        FindCoverLazily(lazy, [&](std::span<const std::uint32_t> candidates) {
          std::vector<Cost> costs;
          for (const std::uint32_t i : candidates) {
            EXPECT_TRUE(asked.insert(i).second) << "asked twice";
            costs.push_back(problem.candidates[i].cost);
          }
          return costs;
        });
    ExpectOptimal(problem, found, brute, "lazy on seed " + std::to_string(seed));
    if (!found.ok()) continue;
    spared += problem.candidates.size() - asked.size();
    all += problem.candidates.size();
    EXPECT_EQ(found.value().statistics.asked, static_cast<std::int64_t>(asked.size()));
    EXPECT_EQ(found.value().statistics.violated, 0);
    // With a gap, and with bounds of which many are wrong but all are checked in the end.
    for (const bool wrong : {false, true}) {
      for (std::size_t i = 0; i < lazy.candidates.size(); ++i) {
        const Cost& cost = problem.candidates[i].cost;
        const double part = wrong ? 2 * rng.Uniform() : 0.8;
        lazy.candidates[i].cost = Cost::Unknown(cost.known() ? part * cost.micros() : 0);
      }
      const LazyOptions options{.gap = wrong ? 0 : 0.3,
                                .audit = wrong ? problem.candidates.size() : 0};
      const Cover cover = FindCoverLazily(
                              lazy,
                              [&](std::span<const std::uint32_t> candidates) {
                                std::vector<Cost> costs;
                                for (const std::uint32_t i : candidates) {
                                  costs.push_back(problem.candidates[i].cost);
                                }
                                return costs;
                              },
                              {}, options)
                              .value();
      EXPECT_LE(cover.micros * (1 - options.gap), brute.costs().front() + 1e-9) << seed;
      if (!wrong) {
        EXPECT_LE(cover.lower_bound, brute.costs().front() + 1e-9) << seed;
      }
    }
  }
  // By bounds that are a random part of the costs, or 0 for every third problem.
  EXPECT_GT(spared, all / 4);
  // The generator makes both kinds.
  EXPECT_GT(covers, kSeeds / 2);
  EXPECT_GT(without, kSeeds / 20);
}

TEST(RandomProblems, OrderOfCandidatesDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CoverProblem problem = RandomProblem(seed);
    const Result<Cover> before = FindCover(problem, "exact");
    Rng rng(seed);
    for (std::size_t i = problem.candidates.size(); i > 1; --i) {
      std::swap(problem.candidates[i - 1], problem.candidates[rng.Below(i)]);
    }
    const Result<Cover> after = FindCover(problem, "exact");
    ASSERT_EQ(before.ok(), after.ok());
    if (!before.ok()) continue;
    EXPECT_EQ(before.value().micros, after.value().micros) << seed;
  }
}

// --- small problems with known answers: T-* of the reference, section 7.6 ---

double Micros(const CoverProblem& problem, std::string_view search) {
  const Result<Cover> found = FindCover(problem, search);
  EXPECT_TRUE(found.ok()) << found.failure().detail;
  return found.ok() ? found.value().micros : -1;
}

TEST(KnownProblems, PruningLosesTheBestOfAChain) {  // T-PRUNE
  CoverProblem problem{.flow = Chain(3)};
  const auto add = [&](const Members& nodes, const std::string& target) {
    double cost = 8;
    if (nodes == Members{0, 1} && target == "x") cost = 3;
    if (nodes == Members{2} && target == "y") cost = 1;
    if (nodes.size() == 3) cost = 10;
    AddCandidate(problem, nodes, target, cost);
  };
  for (const char* target : {"x", "y"}) {
    for (const Members& nodes : {Members{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}}) {
      add(nodes, target);
    }
  }
  EXPECT_EQ(Micros(problem, "exact"), 4);
  EXPECT_EQ(PruneAsCollage(problem).size(), 2U);
  EXPECT_EQ(Micros(problem, "collage"), 10);
}

TEST(KnownProblems, OfTwinsTheFirstIsKept) {  // T-DUP
  CoverProblem problem{.flow = Chain(1)};
  AddCandidate(problem, {0}, "x", 1);
  AddCandidate(problem, {0}, "x", 1);
  EXPECT_EQ(PruneAsCollage(problem), Chosen{0});
}

TEST(KnownProblems, RegionsThatWaitForEachOtherAreNotChosen) {  // T-CYC
  // a, b, c = f(a, b), d = g(a, b): {a, d} and {b, c} are convex, and wait for each other.
  CoverProblem problem{.flow = Flow({{-1}, {-1}, {0, 1}, {0, 1}})};
  for (std::size_t i = 0; i < 4; ++i) AddCandidate(problem, {i}, "single", 2);
  AddCandidate(problem, {0, 3}, "p", 1);
  AddCandidate(problem, {1, 2}, "q", 1);
  EXPECT_EQ(Micros(problem, "exact"), 5);
  EXPECT_EQ(Micros(problem, "beam"), 5);
  EXPECT_EQ(FindCover(problem, "greedy", {.priority = {"p", "q"}}).value().micros, 5);
  const Chosen both = {4, 5};
  EXPECT_FALSE(ExecutionOrder(problem, both).ok());
}

// A chain a -> b whose tensors are labelled by target: "dense" outside, 1 is P, 2 is Q.
TEST(KnownProblems, APairOfTargetsCostsMore) {  // T-PEN
  CoverProblem problem{.flow = Chain(2), .labels = {"dense", "P", "Q"}};
  AddCandidate(problem, {0}, "P", 1.0, {{2, 1}}, {{0, 1}});
  AddCandidate(problem, {0}, "Q", 1.1, {{2, 2}}, {{0, 2}});
  AddCandidate(problem, {1}, "Q", 1.0, {{0, 2}}, {{1, 2}});
  for (Label label = 1; label < 3; ++label) {
    problem.conversions.Set(kDense, label, 0);
    problem.conversions.Set(label, kDense, 0);
  }
  problem.conversions.Set(1, 2, 1);
  problem.conversions.Set(2, 1, 1);
  for (const Search& search : CoverSearches()) {
    if (search.exact) {
      EXPECT_DOUBLE_EQ(Micros(problem, search.name), 2.1) << search.name;
    }
  }
  EXPECT_DOUBLE_EQ(Micros(problem, "collage"), 3.0);
}

TEST(KnownProblems, ThePapersSecondStageMendsWhatItsFirstDoesNotSee) {
  CoverProblem problem;
  problem.flow = Chain(2);
  problem.labels = {"dense", "blocked"};
  problem.conversions.Set(Label{1}, kDense, 100);
  AddCandidate(problem, {0}, "a", 5);
  AddCandidate(problem, {0}, "b", 1, {}, {{0, Label{1}}});
  AddCandidate(problem, {1}, "a", 1);
  SearchOptions options;
  options.graph_target = "nobody";
  EXPECT_NEAR(FindCover(problem, "paper", options).value().micros, 102, 1e-9);
  options.graph_target = "a";
  EXPECT_NEAR(FindCover(problem, "paper", options).value().micros, 6, 1e-9);
}

TEST(KnownProblems, OneConversionServesAllReaders) {  // T-CONV
  CoverProblem problem{.flow = Flow({{-1}, {0}, {0}, {0}, {1, 2, 3}}), .labels = {"nchw", "nhwc"}};
  problem.conversions.Set(0, 1, 1.0);
  AddCandidate(problem, {0}, "p", 1);
  for (FlowIndex i = 1; i < 4; ++i) AddCandidate(problem, {i}, "q", 1, {{0, 1}});
  AddCandidate(problem, {4}, "p", 1);
  for (const Search& search : CoverSearches()) {
    if (search.exact) {
      EXPECT_DOUBLE_EQ(Micros(problem, search.name), 6.0) << search.name;
    }
  }
}

TEST(KnownProblems, ANodeThatNobodyCanComputeIsNamed) {  // T-INF
  CoverProblem problem{.flow = Chain(2)};
  AddCandidate(problem, {0}, "p", 1);
  AddCandidate(problem, {1}, "p", 1);
  AddCandidate(problem, {0, 1}, "q", 1);
  problem.candidates[1].cost = Cost::Invalid("no kernel for f16");
  problem.candidates[2].cost = Cost::Invalid("crashed");
  for (const Search& search : CoverSearches()) {
    const Result<Cover> found = FindCover(problem, search.name);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.failure().detail,
              "no target can compute node 'n1' (Op): p: no kernel for f16; q: crashed");
  }
  problem.candidates.resize(1);
  EXPECT_EQ(FindCover(problem, "exact").failure().detail,
            "no target can compute node 'n1' (Op): none offers to");
}

TEST(KnownProblems, UnknownCostsFallBackToPriorities) {  // T-NAN
  CoverProblem problem{.flow = Chain(3)};
  for (const char* target : {"p", "q"}) {
    for (std::size_t i = 0; i < 3; ++i) AddCandidate(problem, {i}, target, 1);
  }
  AddCandidate(problem, {0, 1}, "q", 1);
  for (CandidateRegion& candidate : problem.candidates) candidate.cost = Cost::Unknown(0.5);
  const SearchOptions q_first{.priority = {"q"}};
  EXPECT_EQ(FindCover(problem, "greedy").value().chosen, (Chosen{0, 1, 2}));
  EXPECT_EQ(FindCover(problem, "greedy", q_first).value().chosen, (Chosen{6, 5}));
  EXPECT_DOUBLE_EQ(FindCover(problem, "greedy", q_first).value().micros, 1.0);
  EXPECT_THROW(static_cast<void>(FindCover(problem, "exact")), UserError);
}

TEST(KnownProblems, AWholeGraphBeatsItsParts) {  // T-S3
  CoverProblem problem{.flow = Chain(40)};
  for (std::size_t i = 0; i < 40; ++i) {
    AddCandidate(problem, {i}, "p", 1);
    if (i + 1 < 40) AddCandidate(problem, {i, i + 1}, "p", 1.5);
  }
  EXPECT_DOUBLE_EQ(Micros(problem, "exact"), 30);
  problem.candidates.push_back(
      {.nodes = IndexSet::Range(40, 0, 40), .target = "q", .cost = Cost::Micros(12)});
  EXPECT_DOUBLE_EQ(Micros(problem, "exact"), 12);
}

TEST(KnownProblems, EqualSegmentsAreSolvedOnce) {
  // Blocks of a diamond, with no candidate across two of them.
  const auto chain = [](int blocks) {
    std::vector<std::vector<int>> reads;
    for (int b = 0; b < blocks; ++b) {
      const int at = 4 * b;
      reads.insert(reads.end(), {{at - 1}, {at}, {at}, {at + 1, at + 2}});
    }
    CoverProblem problem{.flow = Flow(reads)};
    for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b) {
      for (std::size_t i = 0; i < 4; ++i) AddCandidate(problem, {4 * b + i}, "p", 1.5);
      AddCandidate(problem, {4 * b, 4 * b + 1}, "q", 2);
      AddCandidate(problem, {4 * b + 2, 4 * b + 3}, "q", 2);
      AddCandidate(problem, {4 * b + 1, 4 * b + 2}, "r", 0.5);
    }
    return problem;
  };
  const Cover one = FindCover(chain(1), "exact").value();
  const Cover many = FindCover(chain(50), "exact").value();
  EXPECT_DOUBLE_EQ(many.micros, 50 * one.micros);
  EXPECT_EQ(many.statistics.states, one.statistics.states);
  EXPECT_EQ(many.gap(), 0);
}

TEST(KnownProblems, ALimitLeavesAGapThatIsReported) {
  Rng rng(3);
  std::vector<std::vector<int>> reads;
  for (int i = 0; i < 60; ++i) {
    reads.push_back(
        {i - 1 - static_cast<int>(rng.Below(6)), i - 1 - static_cast<int>(rng.Below(6))});
    for (int& from : reads.back()) from = std::max(from, -1);
  }
  CoverProblem problem{.flow = Flow(reads), .labels = {"dense", "l1", "l2"}};
  for (Label from = 0; from < 3; ++from) {
    for (Label to = 0; to < 3; ++to) {
      if (from != to) problem.conversions.Set(from, to, 0.3 + 0.1 * from);
    }
  }
  for (std::size_t i = 0; i < 60; ++i) {
    for (const std::size_t labels : {1U, 3U, 3U}) {
      const IndexSet nodes(60, Members{i});
      // In this order under every compiler.
      const auto out = RandomLabels(TensorsOut(problem.flow, nodes), labels, rng);
      const auto in = RandomLabels(TensorsIn(problem.flow, nodes), labels, rng);
      AddCandidate(problem, {i}, "p", 1 + rng.Uniform(), in, out);
    }
  }
  const Cover full = FindCover(problem, "exact").value();
  EXPECT_EQ(full.gap(), 0);
  SearchOptions options;
  options.max_states = 100;
  const Cover part = FindCover(problem, "exact", options).value();
  EXPECT_GT(part.gap(), 0);
  EXPECT_LE(part.lower_bound, full.micros);
  EXPECT_GE(part.micros, full.micros);
  EXPECT_GT(full.statistics.peak_bytes, part.statistics.peak_bytes);
}

TEST(Searches, AreNamedAndRefuseWhatTheyCannotKeep) {
  EXPECT_THROW(static_cast<void>(FindSearch("magic")), UserError);
  CoverProblem problem{.flow = Chain(1)};
  AddCandidate(problem, {0}, "p", 1);
  problem.conditions.max_bytes = 1;
  EXPECT_THROW(static_cast<void>(FindCover(problem, "exact")), UserError);
  problem.conditions = {.max_bytes = {}, .max_regions = {{{"p"}, 1}}, .pins = {}};
  EXPECT_THROW(static_cast<void>(FindCover(problem, "greedy")), UserError);
}

}  // namespace
}  // namespace msc
