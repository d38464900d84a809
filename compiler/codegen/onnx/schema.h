#pragma once

#include "compiler/codegen/onnx/lower.h"

namespace msc::detail {

/// Checks a converted node against the signature that its operator set gives the operator:
/// attributes, numbers of inputs and outputs, required inputs and element types. Removes attributes
/// that the signature does not have if they equal their defaults.
void CheckSchema(OutNode& node);

}  // namespace msc::detail
