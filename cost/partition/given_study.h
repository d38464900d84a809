#pragma once

#include "compiler/partition/problem.h"
#include "cost/partition/partition_study.h"

namespace msc::cost {

/// Returns the best cover of `problem` that options.search finds under given costs; measures
/// nothing. The plans are that cover, first and best, and every single target whose cost for the
/// whole graph is known. Boundaries are free. Candidates of unknown cost are left out. UserError if
/// no cover exists.
[[nodiscard]] PartitionStudyResult CoverWithGivenCosts(const CoverProblem& problem,
                                                       const PartitionStudyOptions& options);

}  // namespace msc::cost
