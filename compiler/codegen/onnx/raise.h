#pragma once

#include "compiler/codegen/onnx/lower.h"

namespace msc::detail {

/// Converts a node of the graph to the form that `node.opset`, if it is newer than set 17, requires
/// of an operator that set 17 has in another one. Source: ONNX Changelog, operator sets 18 to 27.
void RaiseNode(OutNode& node);

}  // namespace msc::detail
