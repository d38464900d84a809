#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// Returns the defects of a kernel, each with its statement; empty if the kernel is valid. A kernel
/// is valid if buffers and variables exist; variables are defined once, before use and in scope;
/// types agree; only locals are assigned; buffers are accessed as declared; a parallel loop is the
/// whole body; unrolled loops have a constant extent of at most 1024; and every load, store and
/// call is proven to stay inside its buffers, whatever the loaded data. Calls name known functions
/// with valid arguments, and no parallel call is inside a parallel loop. An index that cannot be
/// proven is rejected: clamp it with kMin and kMax.
[[nodiscard]] std::vector<std::string> Verify(const KernelFunc& func);

/// Throws InternalError, which lists all defects, if there are any.
void CheckVerified(const KernelFunc& func);

}  // namespace msc::kernel
