#pragma once

#include "compiler/codegen/onnx/lower.h"

namespace msc::detail {

/// Checks a converted node against libonnx's schema of its operator set: operator, attributes,
/// numbers of inputs and outputs, required inputs and element types. Removes attributes that the
/// schema does not have if they equal their defaults.
void CheckSchema(OutNode& node);

}  // namespace msc::detail
