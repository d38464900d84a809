#pragma once

#include <functional>
#include <span>

#include "compiler/targets/target.h"
#include "cost/partition/region_protocol.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Generates code for every runner of `groups` whose target supports that, and compiles the kernels
/// that the target's cache lacks. It compiles many kernels at a time, because those of one region
/// would leave cores idle. It skips kernels that a target rejects or fails to compile; the
/// measurement reports those. `heard` receives the compiled share: 0 before the code of each runner
/// is generated, then more as kernels are compiled, and 1 at the end. The groups' indices refer to
/// `sources`.
void CompileKernels(std::span<const RegionSource> sources, std::span<const RegionGroup> groups,
                    int threads, const TargetRegistry& targets,
                    const std::function<void(double part)>& heard);

}  // namespace msc::cost
