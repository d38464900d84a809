#pragma once

#include "compiler/targets/target.h"

namespace msc {

/// Kernels generated for the shapes at hand, compiled by the system's C++ compiler for this CPU.
/// f32.
[[nodiscard]] TargetKind NativeKind();

}  // namespace msc
