#pragma once

#include <string_view>

#include "compiler/base/result.h"
#include "compiler/targets/target.h"

namespace msc {

/// Returns the target "onnxruntime". A region becomes an ONNX model in memory and a session of ONNX
/// Runtime with all its graph optimizations, run as one step that is bound to the addresses of the
/// arena, so that nothing is copied. The target takes canonical graphs with their Q/DQ and Cast
/// nodes: for a strategy, it gets the model that `mscgym export` writes. A node is supported if the
/// exporter can write it and the library can make a session of it alone. The precision of layers in
/// Q/DQ models is read back from the optimized model: from the operators that read the layers'
/// integer weights. The library is loaded when the target is made; UserError with the reason if it
/// cannot be loaded.
[[nodiscard]] TargetKind OnnxRuntimeKind();

/// Builds an executable that runs a whole model, given as the bytes of an ONNX file, in the library
/// alone: the peer that MSCGym is compared with. `boundary` gives the names and static types of
/// inputs and outputs; its nodes do not matter. The library learns the sizes of symbolic
/// dimensions, so that it can optimize for them. A Failure contains the library's message.
[[nodiscard]] Result<Executable> BuildFromOnnx(std::string_view model, const Graph& boundary,
                                               const TargetOptions& options);

}  // namespace msc
