#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// How values in bf16 are written. ONNX Runtime's CPU kernels have no bf16 convolution.
enum class Bf16Export : std::uint8_t {
  /// In f32: Cast pairs through bf16 go, bf16 weights become the same numbers in f32. Activations
  /// are then no longer rounded to bf16. The property "msc.bf16_layers" lists, as JSON, the nodes
  /// that ran in bf16.
  kAsF32,
  kKeep,
};

struct ExportOptions {
  std::int64_t opset = 17;  ///< 7 to 17
  Bf16Export bf16 = Bf16Export::kAsF32;
};

/// The graph as the bytes of an ONNX model, weights inside. What operator set 17 says and an older
/// one cannot is a UserError naming the node; Clip, Dropout, Pad, ReduceSum, Slice, Softmax, Split,
/// Squeeze, TopK and Unsqueeze are written in their older forms where their parameters are
/// constants. Every node is checked against libonnx's schema of the chosen set. Metadata becomes
/// model properties, except "onnx." keys. ImportOnnxBytes of the result is the same graph (opset
/// 17, kKeep, up to metadata and layouts).
/// UserError: operators of domain "msc" (export before fusing), nested graphs, an opset outside 7
/// to 17, a model of 2 GiB or more. Source: ONNX IR specification, version 8.
[[nodiscard]] std::string ExportOnnxBytes(const Graph& graph, const ExportOptions& options = {});
/// Writes them by WriteFileAtomic: SystemError where the disk refuses, and no half-written file.
void ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace msc
