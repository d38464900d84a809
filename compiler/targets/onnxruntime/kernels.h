#pragma once

#include <map>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc::onnxruntime {

/// Returns whether the precision of a node is reported: Conv, Gemm, MatMul and ConvTranspose.
[[nodiscard]] bool IsLayer(const Node& node);

/// Returns whether ONNX Runtime may run a layer of `graph` on integers: the layer has integer
/// weights, or a second operand that a DequantizeLinear widens.
[[nodiscard]] bool AnyWidened(const Graph& graph);

/// Returns the precision in which ONNX Runtime runs each layer of `graph`, by node name: "int8" if
/// an integer kernel of `optimized` reads the layer's integer operand, else "f32". `optimized` is
/// the model from SessionOptions::optimized; integer kernels are known by their operator names.
/// UserError if `optimized` is not a model.
[[nodiscard]] std::map<std::string, std::string> KernelPrecisions(const Graph& graph,
                                                                  std::string_view optimized);

}  // namespace msc::onnxruntime
