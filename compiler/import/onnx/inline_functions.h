#pragma once

#include "compiler/import/onnx/import.h"

namespace onnx {
class ModelProto;
}

namespace msc::detail {

/// Replaces every node that calls a function of the model by the nodes of the function, also in
/// nested graphs, and removes the functions. Throws UserError if functions are defined twice, call
/// themselves, give more nodes than `limits` allow, or have another operator set of ai.onnx than
/// the model. Source: ONNX IR specification, "Functions".
void InlineFunctions(const ImportLimits& limits, onnx::ModelProto& model);

}  // namespace msc::detail
