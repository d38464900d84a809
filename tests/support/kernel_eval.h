#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/kernel/call.h"
#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Interprets iterations begin .. end-1 of the parallel loop of a kernel (0 .. 1 if it has none).
/// buffers[i] has at least the elements of buffer i. Slow and simple: the reference for generated
/// code. f32 is rounded after each operation; functions are those of the C++ library in double;
/// reductions add the two halves of the lanes, repeatedly. `functions` has one entry for each of
/// CalledFunctions. Throws InternalError if `functions` is too short, an element outside a buffer
/// is accessed, or a variable is not defined.
void Evaluate(const KernelFunc& func, std::span<const std::span<std::byte>> buffers,
              std::int64_t begin, std::int64_t end,
              std::span<const LibraryFunction> functions = {});

}  // namespace msc::kernel
