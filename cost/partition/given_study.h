#pragma once

#include "compiler/partition/problem.h"
#include "cost/partition/partition_study.h"

namespace msc::cost {

/// The best cover of `problem` by options.search under the costs that it has, which somebody gave:
/// nothing is measured. Its plans are that cover, first and best, and every single target whose
/// whole cost is known; boundaries are free. Candidates of unknown cost are left out. UserError
/// where no cover exists.
[[nodiscard]] StudyResult CoverWithGivenCosts(const CoverProblem& problem,
                                              const StudyOptions& options);

}  // namespace msc::cost
