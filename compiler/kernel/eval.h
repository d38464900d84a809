#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/kernel/call.h"
#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Interprets a kernel on bytes, buffer i in `buffers[i]` with at least its elements, for
/// iterations begin .. end-1 of the parallel loop (0 .. 1 without one). Slow and plain: what
/// generated code is compared with. f32 is rounded after each operation, functions are those of the
/// C++ library in double, reductions add halves like a tree. InternalError where an element outside
/// a buffer is touched or a variable is not defined. Calls go to `functions`, one for each of
/// CalledFunctions; InternalError where they are fewer.
void Evaluate(const KernelFunc& func, std::span<const std::span<std::byte>> buffers,
              std::int64_t begin, std::int64_t end,
              std::span<const LibraryFunction> functions = {});

}  // namespace msc::kernel
