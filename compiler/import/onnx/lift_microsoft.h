#pragma once

#include <cstddef>

#include "compiler/import/onnx/lift.h"

namespace msc::detail {

/// Rejects what a rule does not use, since dropping it would change what the node means: attributes
/// that it has not taken, inputs from number `inputs` on, and outputs from number `outputs` on that
/// are read.
void RejectRest(const Lift& lift, std::size_t inputs, std::size_t outputs = 1);

}  // namespace msc::detail
