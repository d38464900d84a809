#pragma once

#include <memory>
#include <string>

#include "compiler/kernel/module.h"
#include "compiler/kernel/program.h"
#include "compiler/runtime/executable.h"

namespace msc {

/// The calls of a program as steps of an executable, its buffers in the executable's arena: what
/// the default flow makes of GraphToKernel and KernelToRuntime. Parallel loops run on `threads`
/// threads, each with scratch memory of its own. `target` is who made it, for profiles.
void AddProgram(const kernel::Program& program, std::shared_ptr<const kernel::Module> module,
                const std::string& target, int threads, ExecutableBuilder& builder);

}  // namespace msc
