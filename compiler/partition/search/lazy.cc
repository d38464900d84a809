#include "compiler/partition/search/lazy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/partition/search/exact.h"

namespace msc {
namespace {

using detail::Cut;
using detail::Rivals;
using detail::Table;
using detail::UnknownCosts;

/// Returns the pieces of a cover, sorted by first node.
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

void PutInOrder(const CoverProblem& problem, Cover& cover) {
  Result<std::vector<std::uint32_t>> order = ExecutionOrder(problem, cover.chosen);
  Check(order.ok(), "the exact search finds covers that can run");
  cover.chosen = std::move(order).value();
}

/// Implements FindCoverLazily.
class LazySearch {
 public:
  LazySearch(CoverProblem& problem, const CostOracle& oracle, const SearchOptions& options,
             const LazyOptions& lazy)
      : problem_(problem), oracle_(oracle), options_(options), lazy_(lazy), rng_(options.seed) {
    Check(lazy.alike.empty() || lazy.alike.size() == problem.candidates.size(),
          "every candidate has a number");
    for (std::uint32_t i = 0; i < lazy.alike.size(); ++i) alike_[lazy.alike[i]].push_back(i);
  }

  Result<Cover> Run() {
    SetBounds();
    std::vector<std::uint32_t> first = lazy_.first;
    std::erase_if(first,
                  [&](std::uint32_t i) { return !problem_.candidates.at(i).cost.unknown(); });
    Ask(std::move(first));
    bool audited = false;
    while (true) {
      if (lazy_.stop && lazy_.stop()) {
        return Failure{FailureKind::kUnsupported, "stopped before a cover was found"};
      }
      // With unknown costs at their bounds, the optimum bounds every cover. Once all its costs are
      // known, it is the optimal cover.
      Result<Cover> best = Solve(UnknownCosts::kByBound);
      if (!best.ok()) return best.failure();
      const double bound = best.value().lower_bound;
      std::vector<std::uint32_t> unknown = UnknownOf(best.value());
      // A known cover within the gap of that bound needs no further costs.
      if (!unknown.empty() && lazy_.gap > 0) {
        Result<Cover> known = Solve(UnknownCosts::kLeaveOut);
        if (known.ok() && known.value().micros * (1 - lazy_.gap) <= bound) {
          best = std::move(known);
          unknown.clear();
        }
      }
      if (!unknown.empty()) {
        KeepPart(unknown);
        Ask(std::move(unknown));
      } else if (audited) {
        return Finish(std::move(best).value(), bound);
      } else {
        audited = !Audit();  // the answers may have changed bounds
      }
    }
  }

 private:
  void SetBounds() {
    if (lazy_.bounds) lazy_.bounds(problem_);
  }

  Result<Cover> Solve(UnknownCosts unknown) {
    if (auto failure = detail::Uncoverable(problem_, unknown)) return *std::move(failure);
    const Table table(problem_, unknown);
    Result<Cover> best = detail::SolveExactly(table, {}, options_);
    if (best.ok()) detail::Add(best.value().statistics, statistics_);
    return best;
  }

  [[nodiscard]] std::vector<std::uint32_t> UnknownOf(const Cover& cover) const {
    std::vector<std::uint32_t> unknown;
    for (const std::uint32_t index : cover.chosen) {
      if (problem_.candidates[index].cost.unknown()) unknown.push_back(index);
    }
    return unknown;
  }

  /// Sorts `candidates` and removes duplicates. Keeps the first of those that are alike.
  void KeepDistinct(std::vector<std::uint32_t>& candidates) const {
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    if (alike_.empty()) return;
    std::set<std::uint32_t> seen;
    std::erase_if(candidates, [&](std::uint32_t i) { return !seen.insert(lazy_.alike[i]).second; });
  }

  /// Reduces `unknown` to distinct candidates, and these to the fraction lazy_.part with the
  /// highest bounds, at least one. Bounds of candidates that are alike are added, since one answer
  /// raises all of them.
  void KeepPart(std::vector<std::uint32_t>& unknown) const {
    const auto number = [&](std::uint32_t i) { return alike_.empty() ? i : lazy_.alike[i]; };
    std::map<std::uint32_t, double> bounds;
    for (const std::uint32_t i : unknown) {
      bounds[number(i)] += problem_.candidates[i].cost.at_least();
    }
    KeepDistinct(unknown);
    std::stable_sort(unknown.begin(), unknown.end(), [&](std::uint32_t a, std::uint32_t b) {
      return bounds.at(number(a)) > bounds.at(number(b));
    });
    const double part = std::ceil(lazy_.part * static_cast<double>(unknown.size()));
    unknown.resize(std::clamp(static_cast<std::size_t>(part), std::size_t{1}, unknown.size()));
  }

  /// Requests costs from the oracle, stores them, and sets bounds anew. Returns how many answers
  /// were below their bounds.
  std::int64_t Ask(std::vector<std::uint32_t> unknown) {
    if (unknown.empty()) return 0;
    KeepDistinct(unknown);
    std::vector<double> bounds;
    bounds.reserve(unknown.size());
    for (const std::uint32_t i : unknown) {
      bounds.push_back(problem_.candidates[i].cost.at_least());
    }
    std::vector<Cost> costs = oracle_(unknown);
    Check(costs.size() == unknown.size(), "an oracle answers every question");
    const std::int64_t before = statistics_.violated;
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      Check(!costs[i].unknown(), "an oracle knows");
      // A bound of 0 cannot be violated, so it tests nothing.
      statistics_.checked += bounds[i] > 0 ? 1 : 0;
      statistics_.violated += costs[i].at_least() < bounds[i] ? 1 : 0;
      if (!alike_.empty()) {
        for (const std::uint32_t other : alike_.at(lazy_.alike[unknown[i]])) {
          problem_.candidates[other].cost = costs[i];
        }
      }
      problem_.candidates[unknown[i]].cost = std::move(costs[i]);
    }
    statistics_.asked += static_cast<std::int64_t>(unknown.size());
    SetBounds();
    return statistics_.violated - before;
  }

  /// Requests the costs of lazy_.audit candidates of unknown cost, drawn at random. Returns whether
  /// more than lazy_.audit_allows answers were below their bounds.
  bool Audit() {
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < problem_.candidates.size(); ++i) {
      if (problem_.candidates[i].cost.unknown()) left.push_back(i);
    }
    KeepDistinct(left);
    const std::size_t count = std::min(lazy_.audit, left.size());
    // A partial Fisher-Yates shuffle draws without replacement.
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(left[i], left[i + rng_.Below(left.size() - i)]);
    }
    left.resize(count);
    statistics_.audited += static_cast<std::int64_t>(count);
    const std::int64_t below = Ask(std::move(left));
    statistics_.refuted += below;
    return below > static_cast<std::int64_t>(lazy_.audit_allows);
  }

  Cover Finish(Cover cover, double lower_bound) {
    cover.lower_bound = std::min(lower_bound, cover.micros);
    cover.statistics = statistics_;
    PutInOrder(problem_, cover);
    return cover;
  }

  CoverProblem& problem_;
  const CostOracle& oracle_;
  const SearchOptions& options_;
  const LazyOptions& lazy_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> alike_;  ///< candidates by number
  CoverStatistics statistics_;
  Rng rng_;
};

}  // namespace

Result<std::vector<Cover>> FindBestCovers(const CoverProblem& problem, std::size_t count,
                                          const SearchOptions& options) {
  CheckProblem(problem);
  CheckMemoryIsFree(problem);
  if (auto failure = detail::Uncoverable(problem, UnknownCosts::kLeaveOut)) {
    return *std::move(failure);
  }
  const Table table(problem, UnknownCosts::kLeaveOut, Rivals::kAll);
  std::vector<Cut> forbidden;
  std::vector<Cover> covers;
  while (covers.size() < count) {
    Result<Cover> next = detail::SolveExactly(table, forbidden, options);
    if (!next.ok()) {
      if (covers.empty()) return next.failure();
      break;
    }
    Cover cover = std::move(next).value();
    // Covers come by rising cost, so a bound of an earlier one holds for the later ones.
    if (!covers.empty()) cover.lower_bound = std::max(cover.lower_bound, covers.back().lower_bound);
    forbidden.push_back(PiecesOf(table, cover));
    PutInOrder(problem, cover);
    covers.push_back(std::move(cover));
  }
  return covers;
}

Result<Cover> FindCoverLazily(CoverProblem& problem, const CostOracle& oracle,
                              const SearchOptions& options, const LazyOptions& lazy) {
  CheckProblem(problem);
  CheckMemoryIsFree(problem);
  return LazySearch(problem, oracle, options, lazy).Run();
}

}  // namespace msc
