#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/func.h"

namespace msc {

/// The kernels as one C++17 translation unit for GCC >= 12 or clang >= 14 that includes nothing,
/// with instructions of `isa`. Function i is
///
///   extern "C" void k<i>(char* const* buffers, long begin, long end)
///
/// with the buffers in their order, and the range of iterations of the parallel loop, 0 .. 1 where
/// there is none. A kernel that calls functions of libraries finds them in a table whose address
/// stands behind those of the buffers (kernel/module.h). Every word of the text is made here: no
/// name of a kernel, buffer or function gets into it. Equal kernels but for names give equal text.
/// Statements stand as they are given: nothing is cached in locals or reordered; unrolled loops are
/// repeated. The kernels are verified (kernel/verify.h).
///
/// `prefix` is put before k<i>, where texts of several instruction sets are linked together:
/// letters, digits and underscores.
[[nodiscard]] std::string EmitCpp(std::span<const kernel::KernelFunc> funcs, const Isa& isa,
                                  const std::string& prefix = "");

/// "k3".
[[nodiscard]] std::string FunctionSymbol(std::size_t index, const std::string& prefix = "");

/// Options that the text needs besides those of its Isa: what floating point may do, and no more
/// than the compiler itself at run time.
[[nodiscard]] std::vector<std::string> EmittedTextOptions();

}  // namespace msc
