#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/func.h"

namespace msc {

/// Returns the kernels as one C++17 translation unit without includes, for GCC >= 12 or clang >= 14
/// with the instructions of `isa`. Function i is
///
///   extern "C" void k<i>(char* const* buffers, long begin, long end)
///
/// with the buffers in their order and the range of iterations of the parallel loop, 0 .. 1 if
/// there is none. If a kernel calls library functions, the address of its function table follows
/// the buffers (kernel/module.h). The text contains no name of a kernel, buffer or function, so
/// kernels that differ only in names give equal text. Statements keep their order; nothing is
/// cached in locals; unrolled loops are repeated. The kernels must be valid (kernel/verify.h).
///
/// `prefix` precedes k<i>, for linking the texts of several instruction sets together: letters,
/// digits and underscores.
[[nodiscard]] std::string EmitCpp(std::span<const kernel::KernelFunc> funcs, const Isa& isa,
                                  const std::string& prefix = "");

/// Returns a symbol such as "k3".
[[nodiscard]] std::string FunctionSymbol(std::size_t index, const std::string& prefix = "");

/// Returns the compiler options that the text needs besides those of its Isa. They permit the
/// compiler only the floating-point changes that kernels allow.
[[nodiscard]] std::vector<std::string> EmittedTextOptions();

}  // namespace msc
