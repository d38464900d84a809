#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// How to export bf16 values. ONNX Runtime's CPU kernels have no bf16 convolution.
enum class Bf16Export : std::uint8_t {
  /// In f32: removes Cast pairs through bf16, and converts bf16 weights to the same numbers in f32.
  /// Activations are then no longer rounded to bf16. The property "msc.bf16_layers" lists, as JSON,
  /// the nodes that ran in bf16.
  kAsF32,
  kKeep,
};

struct ExportOptions {
  std::int64_t opset = 17;  ///< 7 to 17
  Bf16Export bf16 = Bf16Export::kAsF32;
};

/// Returns the graph as the bytes of an ONNX model, including the weights. For an older operator
/// set, writes Clip, Dropout, Pad, ReduceSum, Slice, Softmax, Split, Squeeze, TopK and Unsqueeze in
/// their older forms if their parameters are constants. Checks every node against libonnx's schema
/// of the chosen set. Metadata becomes model properties, except "onnx." keys. ImportOnnxBytes of
/// the result gives the same graph (with opset 17 and kKeep, up to metadata and layouts).
///
/// Throws UserError, which names the node, if the chosen set cannot express a node; also for
/// operators of domain "msc" (export before fusing), nested graphs, an opset outside 7 to 17, and a
/// model of 2 GiB or more. Source: ONNX IR specification, version 8.
[[nodiscard]] std::string ExportOnnxBytes(const Graph& graph, const ExportOptions& options = {});
/// Writes the model with WriteFileAtomic. Throws SystemError if it cannot; never leaves a partial
/// file.
void ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace msc
