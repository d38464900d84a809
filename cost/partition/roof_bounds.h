#pragma once

#include "compiler/partition/problem.h"
#include "compiler/targets/target.h"
#include "cost/analytic/roof.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Gives unknown costs of `problem` lower bounds by what the machine multiplies at most: the work
/// of a region's convolutions and matrix products at 1.1 times the measured peak of its threads,
/// for the narrowest type that `source` gives each to read in the precision of the region, without
/// what its padding needs; a quarter of it for convolutions of 3x3 with stride 1, which Winograd's
/// F(4x4, 3x3) computes with a quarter of the multiplications (Lavin and Gray 2015), and targets
/// with no larger tiles. Other nodes count nothing: their operands may be in any cache. `roof` is
/// that of one thread, `threads` what targets run on that say nothing else.
void BoundByRoof(const RegionSource& source, const TargetRegistry& targets, const Roof& roof,
                 int threads, CoverProblem& problem);

}  // namespace msc::cost
