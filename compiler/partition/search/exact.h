#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"
#include "compiler/partition/search/frontier.h"
#include "compiler/partition/search/search.h"
#include "compiler/partition/search/table.h"

namespace msc::detail {

/// Returns the positions at which the problem falls into independent segments: no piece has nodes
/// on both sides, and no labelled tensor crosses. Includes 0 and the number of nodes.
[[nodiscard]] std::vector<std::size_t> CutPoints(const Table& table);

/// Finds the optimal cover of a table that does not contain all pieces of any cut in `forbidden`.
/// Segments between cut points are solved separately, and equal ones once. Sets cost and lower
/// bound, which differ if a limit of `options` stops the search.
[[nodiscard]] Result<Cover> SolveExactly(const Table& table, const std::vector<Cut>& forbidden,
                                         const SearchOptions& options);

/// Works as SolveExactly, but keeps only `width` states for each node, and doubles `width` until
/// there is a cover.
[[nodiscard]] Result<Cover> SolveByBeam(const Table& table, const std::vector<Cut>& forbidden,
                                        std::size_t width, const SearchOptions& options);

/// Adds the counters of `more` to `sum`; the peak becomes the higher one.
void Add(const CoverStatistics& more, CoverStatistics& sum);

/// The searches `exact` and `beam` of search.h.
[[nodiscard]] Result<Cover> ExactSearch(const CoverProblem& problem, const SearchOptions& options);
[[nodiscard]] Result<Cover> BeamSearch(const CoverProblem& problem, const SearchOptions& options);

}  // namespace msc::detail
