#pragma once

#include <memory>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/kernel/module.h"
#include "compiler/kernel/program.h"
#include "compiler/runtime/executable.h"

namespace msc {

/// The calls of a program as steps of an executable, its buffers in the executable's arena: what
/// the default flow makes of GraphToKernel and KernelToRuntime. Parallel loops run on `threads`
/// threads, each with scratch memory of its own. `target` is who made it, for profiles; `code` is
/// its CodeDigest, under which the constants become a group.
void AddProgram(const kernel::Program& program, std::shared_ptr<const kernel::Module> module,
                const std::string& target, int threads, std::string code,
                ExecutableBuilder& builder);

/// Equal for programs that differ in nothing but the values of their constants: then the steps of
/// one compute what the other says, once they are given its constants. Values of the graph go by
/// name.
[[nodiscard]] std::string CodeDigest(const kernel::Program& program, const Graph& graph,
                                     int threads);

}  // namespace msc
