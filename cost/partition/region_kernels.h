#pragma once

#include <functional>
#include <span>

#include "compiler/targets/target.h"
#include "cost/partition/region_protocol.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Generates code for every runner of `groups` whose target does that, and compiles what its cache
/// lacks, many kernels at a time: kernels of one region alone would leave cores idle. What a target
/// refuses, or fails at, is passed over: measuring tells. `heard` is told the part that is
/// compiled: 0 before the code of each runner is generated, then more as kernels are compiled, and
/// 1 with the last. `sources`: what the groups' indices mean.
void CompileKernels(std::span<const RegionSource> sources, std::span<const RegionGroup> groups,
                    int threads, const TargetRegistry& targets,
                    const std::function<void(double part)>& heard);

}  // namespace msc::cost
