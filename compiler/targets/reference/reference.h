#pragma once

#include <memory>

#include "compiler/targets/target.h"

namespace msc {

/// Makes the target "reference", which runs the reference kernels of compiler/ops, one step per
/// node. It is slow, simple and correct, and supports every operator that has a kernel: other
/// targets are checked against it, and nodes that they do not support run on it. Its kernels
/// allocate memory and use one thread.
[[nodiscard]] std::unique_ptr<Target> MakeReferenceTarget();

}  // namespace msc
