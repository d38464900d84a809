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

/// Places at which the problem falls apart: no piece has nodes on both sides, no labelled tensor
/// crosses. With 0 and the number of nodes.
[[nodiscard]] std::vector<std::size_t> CutPoints(const Table& table);

/// The optimal cover of a table in which no two pieces of `forbidden` are all chosen; segments
/// between cut points are solved apart, and equal ones once. Cost and lower bound are filled in; a
/// limit of `options` leaves a gap.
[[nodiscard]] Result<Cover> SolveExactly(const Table& table, const std::vector<Cut>& forbidden,
                                         const SearchOptions& options);

/// As SolveExactly, but keeps `width` states for each node, doubled until there is a cover.
[[nodiscard]] Result<Cover> SolveByBeam(const Table& table, const std::vector<Cut>& forbidden,
                                        std::size_t width, const SearchOptions& options);

/// Adds what `more` counted to `sum`; the peak is the higher one.
void Add(const CoverStatistics& more, CoverStatistics& sum);

[[nodiscard]] Result<Cover> ExactSearch(const CoverProblem& problem, const SearchOptions& options);
[[nodiscard]] Result<Cover> BeamSearch(const CoverProblem& problem, const SearchOptions& options);

}  // namespace msc::detail
