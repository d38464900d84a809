#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"

namespace msc {

struct SearchOptions {
  std::uint64_t seed = 1;
  /// Of the search's tables and of states expanded. A search that would need more stops with the
  /// best cover it has and the bound it has proven.
  std::int64_t max_bytes = std::int64_t{1} << 30;
  std::int64_t max_states = 100'000'000;
  /// Targets in the order in which greedy takes them; those not named come after, in the order in
  /// which candidates name them.
  std::vector<std::string> priority = {};
  /// paper: what it adds for each region, and the target that its second stage may hand regions to
  /// (the first of `priority` where empty).
  double region_micros = 10;
  std::string graph_target = {};
  int generations = 200;
};

/// A way to solve a CoverProblem. Adding one: a .cc here, a line in search.cc.
struct Search {
  std::string name;
  std::string help;
  bool exact = false;    ///< ends with gap 0 unless the options' limits stop it
  bool regions = false;  ///< keeps SideConditions::max_regions
  bool memory = false;   ///< keeps SideConditions::max_bytes
  bool unknown = false;  ///< runs where costs are unknown
  /// Costs known or, where `unknown`, not; every node has a candidate that could be used. A Failure
  /// says why there is no cover.
  Result<Cover> (*run)(const CoverProblem& problem, const SearchOptions& options) = nullptr;
};

/// All of this build, in the order of the documentation.
[[nodiscard]] std::span<const Search> Searches();
/// UserError listing what there is, or why this build lacks it.
[[nodiscard]] const Search& FindSearch(std::string_view name);

/// Runs a search: checks the problem before, and the cover with CheckCover after. A Failure
/// (kUnsupported) where there is no cover; for a node that no candidate can cover it names the node
/// and what each target says. UserError for a problem that CheckProblem refuses or a condition that
/// the search cannot keep. Deterministic.
[[nodiscard]] Result<Cover> FindCover(const CoverProblem& problem, std::string_view search,
                                      const SearchOptions& options = {});

/// The `count` cheapest covers that differ in at least one candidate, cheapest first; fewer where
/// there are no more. Each but the first has the cost of its predecessor as lower bound at least.
[[nodiscard]] Result<std::vector<Cover>> FindBestCovers(const CoverProblem& problem,
                                                        std::size_t count,
                                                        const SearchOptions& options = {});

/// What an oracle says a candidate costs; Invalid where it cannot run. Never Unknown.
using CostOracle = std::function<std::vector<Cost>(std::span<const std::uint32_t> candidates)>;

/// Sets the lower bound of every unknown cost of a problem anew, from the costs that are known: see
/// search/bounds.h.
using BoundSource = std::function<void(CoverProblem& problem)>;

struct LazyOptions {
  BoundSource bounds = {};  ///< none: those that unknown costs come with stay
  /// Asked for before the first search: what bounds are learned from.
  std::vector<std::uint32_t> first = {};
  /// Number by candidate: those of the same number cost the same, so one answer serves all. None:
  /// all differ.
  std::vector<std::uint32_t> alike = {};
  /// What part of the candidates on the best cover is asked for before the next search, those of
  /// the highest bounds first (those that are alike together): answers may lead elsewhere before
  /// the rest is asked for.
  double part = 1;
  /// The search may end with a cover of known costs that is dearer than the bound by this part.
  double gap = 0;
  /// How many candidates that nobody asked for are drawn at random at the end, and asked for, to
  /// check their bounds.
  std::size_t audit = 0;
  /// How many of these may be below their bounds without the search going on: bounds from quantiles
  /// are wrong now and then.
  std::size_t audit_allows = 0;
  /// Looked at before each solution: where it says true the search is given up, with what was
  /// learned left in the problem. May be empty.
  std::function<bool()> stop = {};
};

/// The exact search where costs are Unknown: asks `oracle` only for candidates on the best cover
/// under what is known and the lower bounds of what is not, until that cover has none left. The
/// result is what the exact search finds once every cost is known, provided that bounds are true
/// (with a gap: not dearer than that by more). Every answer is compared with the bound that it had:
/// statistics.violated of statistics.checked were below, which is also what the proof is worth. An
/// answer counts as it is, bounds are set anew with it, and the search goes on: also with those
/// drawn at random at the end. Where more than audit_allows of these are below, it draws again when
/// it gets there once more. So the lower bound is one under bounds that all answers had a part in.
/// Leaves what it learned, and the last bounds, in problem.candidates. A Failure where no cover
/// exists, or where `stop` said so.
/// Source: Dellin and Srinivasa, "A Unifying Formalism for Shortest Path Problems with Expensive
/// Edge Evaluations via Lazy Best-First Search over Paths with Edge Selectors" (ICAPS 2016).
[[nodiscard]] Result<Cover> FindCoverLazily(CoverProblem& problem, const CostOracle& oracle,
                                            const SearchOptions& options = {},
                                            const LazyOptions& lazy = {});

}  // namespace msc
