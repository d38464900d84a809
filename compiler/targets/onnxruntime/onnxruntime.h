#pragma once

#include <string_view>

#include "compiler/base/result.h"
#include "compiler/targets/target.h"

namespace msc {

/// The target "onnxruntime": a region becomes an ONNX model in memory and a session of ONNX Runtime
/// with all its graph optimizations, one step, bound to the addresses of the arena so that nothing
/// is copied. It takes canonical graphs, Q/DQ and Cast nodes as they are: what it is given for a
/// strategy is the model that `mscgym export` writes. A node is supported if the exporter can write
/// it and the library makes a session of it alone. What layers of Q/DQ models run in is read back
/// from the model as the library optimized it: by the operators that read their integer weights.
/// The library is loaded when the target is made; UserError says why it cannot be.
[[nodiscard]] TargetKind OnnxRuntimeKind();

/// A whole model, given as the bytes of an ONNX file, as the library runs it by itself: what we are
/// compared with. `boundary` says which inputs and outputs, by name, with static types; its nodes
/// do not matter. The library is told the sizes of symbolic dimensions, so that it can optimize for
/// them. A Failure has the library's words.
[[nodiscard]] Result<Executable> BuildFromOnnx(std::string_view model, const Graph& boundary,
                                               const TargetOptions& options);

}  // namespace msc
