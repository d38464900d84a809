#pragma once

#include <map>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc::onnxruntime {

/// Whether a node is one whose arithmetic is worth knowing: Conv, Gemm, MatMul, ConvTranspose.
[[nodiscard]] bool IsLayer(const Node& node);

/// Whether ONNX Runtime may run a layer of `graph` on integers: one has integer weights, or a
/// second operand that is widened.
[[nodiscard]] bool AnyWidened(const Graph& graph);

/// In what ONNX Runtime runs the layers of `graph`, by node name, as the model says that it made of
/// it (SessionOptions::optimized): "int8" where a kernel for integers reads these integers, else
/// "f32". Kernels are known by the names of their operators. UserError where the bytes are no
/// model.
[[nodiscard]] std::map<std::string, std::string> KernelPrecisions(const Graph& graph,
                                                                  std::string_view optimized);

}  // namespace msc::onnxruntime
