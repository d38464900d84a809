#pragma once

#include "compiler/partition/problem.h"
#include "compiler/targets/target.h"
#include "cost/analytic/roof.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Gives unknown costs of `problem` lower bounds by what the machine multiplies at most: LeastFlops
/// of a region's nodes at 1.1 times the measured peak of its threads, for the narrowest type that
/// `source` gives each to read in the precision of the region. `roof` is that of one thread,
/// `threads` what targets run on that say nothing else.
void BoundByRoof(const RegionSource& source, const TargetRegistry& targets, const Roof& roof,
                 int threads, CoverProblem& problem);

}  // namespace msc::cost
