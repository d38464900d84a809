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

/// Options of searches; each search reads those that concern it.
struct SearchOptions {
  std::uint64_t seed = 1;
  /// Limits of the bytes of the search's tables and of the states expanded. A search that would
  /// exceed one stops with the best cover it has and the bound it has proven.
  std::int64_t max_bytes = std::int64_t{1} << 30;
  std::int64_t max_states = 100'000'000;
  /// Targets in the order in which `greedy` takes them. Targets that are missing follow, in the
  /// order of candidates.
  std::vector<std::string> priority = {};
  /// For `paper`: the cost it adds for each region; the target that its second stage may give
  /// regions to (the first of `priority` if empty); the number of generations.
  double region_micros = 10;
  std::string graph_target = {};
  int generations = 200;
};

/// A way to solve a CoverProblem. To add one, write a .cc here and a line in search.cc.
struct Search {
  std::string name;
  std::string help;
  bool exact = false;    ///< ends with gap 0 unless a limit of the options stops it
  bool regions = false;  ///< supports SideConditions::max_regions
  bool memory = false;   ///< supports SideConditions::max_bytes
  bool unknown = false;  ///< accepts unknown costs
  /// Runs the search. Callers make sure that costs are known, unless `unknown`, and that every node
  /// has a usable candidate. The Failure says why there is no cover.
  Result<Cover> (*run)(const CoverProblem& problem, const SearchOptions& options) = nullptr;
};

/// Returns all searches of this build, in the order of the documentation.
[[nodiscard]] std::span<const Search> CoverSearches();
/// Returns the search of that name. UserError if there is none: it lists the names, or says why
/// this build lacks the search.
[[nodiscard]] const Search& FindSearch(std::string_view name);

/// Runs a search; checks the problem before and the cover, by CheckCover, after it. Returns a
/// Failure (kUnsupported) if there is no cover; if no candidate can cover a node, the Failure names
/// the node and the reason of each target. UserError if CheckProblem rejects the problem or the
/// search does not support one of its side conditions. Deterministic.
[[nodiscard]] Result<Cover> FindCover(const CoverProblem& problem, std::string_view search,
                                      const SearchOptions& options = {});

}  // namespace msc
