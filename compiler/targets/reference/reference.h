#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// The target "reference": runs the reference kernel of compiler/ops, one step a node. Slow, simple
/// and right; it takes every operator that has a kernel, so it is what other targets are checked
/// against and where what they refuse ends up. Its kernels allocate; it uses one thread.
[[nodiscard]] std::unique_ptr<Target> MakeReferenceTarget();

}  // namespace msc
