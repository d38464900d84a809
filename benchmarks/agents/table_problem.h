#pragma once

#include <memory>
#include <string>

#include "gym/core/problem.h"

namespace msc::bench {

/// A search problem all of whose outcomes are known: a table as benchmarks/agents/record writes it.
///
/// JSON: "decisions" [{"name", "choices"}], "metrics" [names], "anchors" [[choice indices]],
/// "results" [[numbers] or null for a failure], the last decision varying fastest, and maybe
/// "relevance" [a number for each decision] and "estimates" {metric: {"offset", "effects"}}, as
/// SearchProblem has them. UserError naming `path` if it is something else.
[[nodiscard]] std::unique_ptr<gym::SearchProblem> LoadTable(const std::string& path);

/// Number of the row of an assignment.
[[nodiscard]] std::size_t RowOf(const std::vector<gym::Decision>& decisions,
                                const gym::Assignment& assignment);

}  // namespace msc::bench
