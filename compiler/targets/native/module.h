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

/// Finds the library function that kernels call by `name`; null if there is none.
using FindFunction = std::function<kernel::LibraryFunction(std::string_view name)>;

/// Verifies kernels, generates their code, compiles kernels that are missing from the cache, and
/// loads all of them. Kernels that are equal but for names are compiled once. `find` gives the
/// functions that kernels call. InternalError if a kernel is unsound or a function is missing.
/// Failure (kCompile) if the compiler rejects the code, crashes or takes too long. UserError with
/// advice if there is no compiler or the cache folder cannot be trusted. Safe for several threads
/// and processes at once.
[[nodiscard]] Result<std::shared_ptr<const kernel::Module>> BuildModule(
    std::span<const kernel::KernelFunc> funcs, const Isa& isa, const BuildOptions& options,
    const FindFunction& find = {});

}  // namespace msc
