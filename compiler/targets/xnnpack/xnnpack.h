#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// Makes the target "xnnpack": f32 operators of XNNPACK. Images are channels last between its nodes
/// and change layout only at the edges of a region. Supports convolutions (depthwise, grouped,
/// dilated), fully connected layers, pools, Add, Sub, Mul, Div, Max, Min, and the usual
/// activations. A clamp is part of the operator before it; other operations after a layer are
/// operators of their own. UserError if the library does not support the CPU.
[[nodiscard]] std::unique_ptr<Target> MakeXnnpackTarget();

}  // namespace msc
