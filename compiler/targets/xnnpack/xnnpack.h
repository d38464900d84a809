#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// The target "xnnpack": XNNPACK's f32 operators. Images are channels last between its own nodes
/// and are turned at the edges of a region only. Convolutions (depthwise, grouped, dilated), fully
/// connected layers, pools, Add, Sub, Mul, Div, Max, Min, and the usual activations; a clamp is
/// part of the operator before it, other closings are operators of their own. UserError where the
/// library does not know the CPU.
[[nodiscard]] std::unique_ptr<Target> MakeXnnpackTarget();

}  // namespace msc
