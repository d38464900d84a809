#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "compiler/base/result.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/call.h"
#include "compiler/kernel/func.h"
#include "compiler/kernel/module.h"
#include "compiler/targets/native/compile.h"

namespace msc {

/// The function that kernels call by a name; null where there is none.
using FindFunction = std::function<kernel::LibraryFunction(std::string_view name)>;

/// Verifies (InternalError if a kernel is unsound), generates, compiles what the cache does not
/// have, and loads. Kernels that are equal but for names are compiled once. A Failure (kCompile)
/// where the compiler refuses, crashes or takes too long; UserError where there is no compiler, or
/// the cache folder cannot be trusted: both say what to do. `find` gives the functions that kernels
/// call; InternalError where one of them is not there. Thread-safe, and so are several processes at
/// a time.
[[nodiscard]] Result<std::shared_ptr<const kernel::Module>> BuildModule(
    std::span<const kernel::KernelFunc> funcs, const Isa& isa, const BuildOptions& options,
    const FindFunction& find = {});

}  // namespace msc
