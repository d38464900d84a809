#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/partition/search/exact.h"
#include "compiler/partition/search/search.h"

namespace msc {
namespace {

using detail::Cut;
using detail::Table;
using detail::UnknownCosts;

/// The pieces of a cover, by first node.
Cut PiecesOf(const Table& table, const Cover& cover) {
  Cut cut;
  for (std::uint32_t i = 0; i < table.pieces.size(); ++i) {
    const auto& chosen = cover.chosen;
    if (std::find(chosen.begin(), chosen.end(), table.pieces[i].candidate) != chosen.end()) {
      cut.push_back(i);
    }
  }
  return cut;
}

void CheckMemoryIsFree(const CoverProblem& problem) {
  if (problem.conditions.max_bytes) {
    throw UserError("the exact search cannot keep a memory limit; use the search ilp");
  }
}

/// Known regions of one target, by first node.
using KnownRegions = std::map<std::size_t, std::vector<const Candidate*>>;

/// What disjoint regions inside `nodes` cost together, the dearest taken first.
double CostOfParts(const KnownRegions& known, const IndexSet& nodes) {
  std::vector<const Candidate*> parts;
  nodes.ForEach([&](std::size_t node) {
    const auto it = known.find(node);
    if (it == known.end()) return;
    for (const Candidate* part : it->second) {
      if (part->nodes.SubsetOf(nodes)) parts.push_back(part);
    }
  });
  std::stable_sort(parts.begin(), parts.end(), [](const Candidate* a, const Candidate* b) {
    return a->cost.micros() > b->cost.micros();
  });
  IndexSet taken(nodes.universe());
  double sum = 0;
  for (const Candidate* part : parts) {
    if (part->nodes.Intersects(taken)) continue;
    taken |= part->nodes;
    sum += part->cost.micros();
  }
  return sum;
}

/// Raises the bounds of unknown costs to what is known of the same target's smaller regions.
void RaiseBounds(CoverProblem& problem, double factor) {
  std::map<std::string, KnownRegions> known;
  for (const Candidate& candidate : problem.candidates) {
    if (!candidate.cost.known()) continue;
    known[candidate.target][candidate.nodes.First()].push_back(&candidate);
  }
  for (Candidate& candidate : problem.candidates) {
    const auto target = known.find(candidate.target);
    if (!candidate.cost.unknown() || target == known.end()) continue;
    const double bound = factor * CostOfParts(target->second, candidate.nodes);
    if (bound > candidate.cost.at_least()) candidate.cost = Cost::Unknown(bound);
  }
}

void PutInOrder(const CoverProblem& problem, Cover& cover) {
  Result<std::vector<std::uint32_t>> order = ExecutionOrder(problem, cover.chosen);
  Check(order.ok(), "the exact search finds covers that can run");
  cover.chosen = std::move(order).value();
}

}  // namespace

Result<std::vector<Cover>> FindBestCovers(const CoverProblem& problem, std::size_t count,
                                          const SearchOptions& options) {
  CheckProblem(problem);
  CheckMemoryIsFree(problem);
  if (auto failure = detail::Uncoverable(problem, UnknownCosts::kLeaveOut)) {
    return *std::move(failure);
  }
  const Table table(problem, UnknownCosts::kLeaveOut);
  std::vector<Cut> forbidden;
  std::vector<Cover> covers;
  while (covers.size() < count) {
    Result<Cover> next = detail::SolveExactly(table, forbidden, options);
    if (!next.ok()) {
      if (covers.empty()) return next.failure();
      break;
    }
    Cover cover = std::move(next).value();
    if (!covers.empty()) cover.lower_bound = std::max(cover.lower_bound, covers.back().lower_bound);
    forbidden.push_back(PiecesOf(table, cover));
    PutInOrder(problem, cover);
    covers.push_back(std::move(cover));
  }
  return covers;
}

Result<Cover> FindCoverLazily(CoverProblem& problem, const CostOracle& oracle,
                              const SearchOptions& options) {
  CheckProblem(problem);
  CheckMemoryIsFree(problem);
  CoverStatistics statistics;
  while (true) {
    if (auto failure = detail::Uncoverable(problem, UnknownCosts::kByBound)) {
      return *std::move(failure);
    }
    const Table table(problem, UnknownCosts::kByBound);
    Result<Cover> best = detail::SolveExactly(table, {}, options);
    if (!best.ok()) return best.failure();
    Cover cover = std::move(best).value();
    detail::Add(cover.statistics, statistics);
    std::vector<std::uint32_t> unknown;
    for (const std::uint32_t index : cover.chosen) {
      if (problem.candidates[index].cost.unknown()) unknown.push_back(index);
    }
    if (unknown.empty()) {
      cover.statistics = statistics;
      PutInOrder(problem, cover);
      return cover;
    }
    std::sort(unknown.begin(), unknown.end());
    std::vector<Cost> costs = oracle(unknown);
    Check(costs.size() == unknown.size(), "an oracle answers every question");
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      Check(!costs[i].unknown(), "an oracle knows");
      problem.candidates[unknown[i]].cost = std::move(costs[i]);
    }
    statistics.asked += static_cast<std::int64_t>(unknown.size());
    if (options.parts_factor > 0) RaiseBounds(problem, options.parts_factor);
  }
}

}  // namespace msc
