#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc::kernel {

/// What is wrong with a kernel, each with the statement at fault; empty if it is sound. Sound
/// means: buffers and variables exist, variables are defined once, before use and in scope, types
/// agree; only locals are assigned to; writes go to buffers that may be written, reads to those
/// that may be read; parallel loops are the whole body; unrolled loops are short and constant; and
/// every load, store and call is proven to stay inside its buffers whatever loaded data are; calls
/// are of functions that there are, with arguments that fit, and in no parallel loop where they are
/// parallel themselves. What cannot be proven is refused: clamp such an index with kMin and kMax.
[[nodiscard]] std::vector<std::string> Verify(const KernelFunc& func);

/// InternalError with all of it if there is any.
void CheckVerified(const KernelFunc& func);

}  // namespace msc::kernel
