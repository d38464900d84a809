#pragma once

#include <memory>
#include <span>

#include "compiler/base/result.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/func.h"
#include "compiler/kernel/module.h"
#include "compiler/targets/native/compile.h"

namespace msc {

/// Verifies (InternalError if a kernel is unsound), generates, compiles what the cache does not
/// have, and loads. Kernels that are equal but for names are compiled once. A Failure (kCompile)
/// where the compiler refuses, crashes or takes too long; UserError where there is no compiler, or
/// the cache folder cannot be trusted: both say what to do. Thread-safe, and so are several
/// processes at a time.
[[nodiscard]] Result<std::shared_ptr<const kernel::Module>> BuildModule(
    std::span<const kernel::KernelFunc> funcs, const Isa& isa, const BuildOptions& options);

}  // namespace msc
