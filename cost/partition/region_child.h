#pragma once

#include <string>

#include "compiler/targets/target.h"

namespace msc::cost {

/// The child that measures regions: what `mscgym measure-regions REQUEST.json` is. Every runner of
/// a group is compiled and run once; those that could be are timed as rivals, on inputs between 0.5
/// and 1.5, with weights as cold as the request says. Says in the file of answers what it begins
/// and what came of it, so that a crash costs one runner. A runner whose target refuses a node of
/// the region fails with kUnsupported where there is no plan: what `reference` does is not its
/// cost. Where only kernels are asked for, see CompileKernels.
///
/// Returns the exit status: 0 at the end, 77 out of memory, 1 anything else, with a line on stderr.
[[nodiscard]] int MeasureRegionsMain(const std::string& request_path,
                                     const TargetRegistry& targets);

}  // namespace msc::cost
