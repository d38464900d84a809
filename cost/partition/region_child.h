#pragma once

#include <string>

#include "compiler/targets/target.h"

namespace msc::cost {

/// Main function of the child that measures regions, `mscgym measure-regions REQUEST.json`.
///
/// Compiles every runner of a group and runs it once. Times the successful ones as rivals, on
/// inputs between 0.5 and 1.5, with weights as cold as the request says. Before each step and after
/// each result it appends a line to the file of answers, so that a crash affects only one runner.
/// If a target does not support a node of the region and the runner has no plan, the runner fails
/// with kUnsupported, because the time of `reference` is not the target's cost. For requests of
/// kernels only, see CompileKernels.
///
/// Returns the exit status: 0 at the end, 77 if memory ran out, and 1 otherwise, with a line on
/// stderr.
[[nodiscard]] int MeasureRegionsMain(const std::string& request_path,
                                     const TargetRegistry& targets);

}  // namespace msc::cost
