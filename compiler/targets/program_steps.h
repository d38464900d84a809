#pragma once

#include <memory>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/kernel/module.h"
#include "compiler/kernel/program.h"
#include "compiler/runtime/executable.h"

namespace msc {

/// Adds the calls of a program as steps, and its buffers to the arena of the executable: the
/// default flow after GraphToKernel and KernelToRuntime. Parallel loops run on `threads` threads,
/// each with its own scratch memory. `target` names the target in profiles. The constants become a
/// group under `code`, the CodeDigest of the program.
void AddProgram(const kernel::Program& program, std::shared_ptr<const kernel::Module> module,
                const std::string& target, int threads, std::string code,
                ExecutableBuilder& builder);

/// Returns a digest that is equal for programs that differ only in the values of their constants:
/// given the constants of one program, the steps of the other compute the same. Identifies values
/// of the graph by name.
[[nodiscard]] std::string CodeDigest(const kernel::Program& program, const Graph& graph,
                                     int threads);

}  // namespace msc
