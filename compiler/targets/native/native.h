#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// Returns the target "native": kernels generated for the shapes at hand, compiled by the system's
/// C++ compiler for this CPU. f32, bf16 with sums in f32, and int8 with exact integer sums. See
/// docs/native.md.
[[nodiscard]] TargetKind NativeKind();

}  // namespace msc
