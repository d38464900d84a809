#pragma once

#include "compiler/partition/problem.h"
#include "compiler/targets/target.h"
#include "cost/analytic/roof.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Sets lower bounds for the unknown costs of `problem`, from the highest throughput of the
/// machine: LeastFlops of a region's nodes at 1.1 times the measured peak of the region's threads.
/// The peak is that of the narrowest type that a node reads in `source`, in the precision of the
/// region. `roof` is for one thread; `threads` applies to targets that do not set their own number.
void BoundByRoof(const RegionSource& source, const TargetRegistry& targets, const Roof& roof,
                 int threads, CoverProblem& problem);

}  // namespace msc::cost
