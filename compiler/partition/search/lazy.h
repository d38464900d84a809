#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/partition/search/search.h"

namespace msc {

/// Returns the `count` cheapest covers that differ in at least one candidate, sorted by cost; fewer
/// if there are no more. The lower bound of each is at least that of its predecessor. UserError if
/// CheckProblem rejects the problem or it has a memory limit.
[[nodiscard]] Result<std::vector<Cover>> FindBestCovers(const CoverProblem& problem,
                                                        std::size_t count,
                                                        const SearchOptions& options = {});

/// Measures or looks up candidates. Returns their costs in order: known, or Invalid for a candidate
/// that cannot run.
using CostOracle = std::function<std::vector<Cost>(std::span<const std::uint32_t> candidates)>;

/// Sets the lower bound of every unknown cost of a problem from the known costs; see
/// search/bounds.h.
using BoundSource = std::function<void(CoverProblem& problem)>;

/// Options of FindCoverLazily.
struct LazyOptions {
  BoundSource bounds = {};  ///< if empty, unknown costs keep their initial bounds
  /// Candidates to measure before the first search, from which bounds are learned.
  std::vector<std::uint32_t> first = {};
  /// Number by candidate. Candidates with the same number have the same cost, so one answer serves
  /// all. If empty, all differ.
  std::vector<std::uint32_t> alike = {};
  /// Fraction of the unknown candidates on the best cover that is requested before the next search,
  /// those with the highest bounds first (bounds of candidates that are alike are added). A small
  /// fraction saves requests, since answers may lead elsewhere.
  double part = 1;
  /// The search may end with a cover of known costs that exceeds the bound by this fraction.
  double gap = 0;
  /// Number of candidates of unknown cost that are drawn at random and requested at the end, to
  /// check their bounds.
  std::size_t audit = 0;
  /// How many audited candidates may be below their bounds without the search going on: bounds from
  /// quantiles are sometimes wrong.
  std::size_t audit_allows = 0;
  /// Called before each search; if it returns true, the search is given up, and `problem` keeps
  /// what was learned. May be empty.
  std::function<bool()> stop = {};
};

/// Runs the exact search on a problem with unknown costs. Searches with known costs and the lower
/// bounds of unknown ones, requests costs of candidates on the best cover from `oracle`, and
/// repeats until that cover has only known costs. If all bounds are true, the cover is optimal for
/// all costs (or exceeds the optimum by `gap` at most).
///
/// Every answer is compared with its bound; statistics.violated of statistics.checked were below
/// it, which shows how far the proof can be trusted. After answers, including those of the audit,
/// bounds are set anew and the search continues. If more than audit_allows answers of an audit are
/// below their bounds, another audit follows. The lower bound of the cover therefore rests on
/// bounds that take all answers into account.
///
/// Leaves costs and the last bounds in problem.candidates. Returns a Failure if no cover exists or
/// `stop` returned true.
/// Source: Dellin and Srinivasa, "A Unifying Formalism for Shortest Path Problems with Expensive
/// Edge Evaluations via Lazy Best-First Search over Paths with Edge Selectors" (ICAPS 2016).
[[nodiscard]] Result<Cover> FindCoverLazily(CoverProblem& problem, const CostOracle& oracle,
                                            const SearchOptions& options = {},
                                            const LazyOptions& lazy = {});

}  // namespace msc
