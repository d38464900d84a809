#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ops/onnx_sets.h"

namespace msc {

/// The oldest operator set that is written.
inline constexpr std::int64_t kOldestWrittenOpset = 7;

/// How to export bf16 values. ONNX Runtime's CPU kernels have no bf16 convolution.
enum class Bf16Export : std::uint8_t {
  /// In f32, all but graph inputs and outputs, which stay bf16: removes Cast pairs through bf16,
  /// and
  /// converts bf16 weights to the same numbers in f32. Activations are then no longer rounded to
  /// bf16. The property "msc.bf16_layers" lists, as JSON,
  /// the nodes that ran in bf16.
  kAsF32,
  kKeep,
};

struct ExportOptions {
  std::int64_t opset = kGraphOpset;  ///< kOldestWrittenOpset to kNewestOpset
  Bf16Export bf16 = Bf16Export::kAsF32;
  /// Gives graph inputs and outputs that the model's file had in a narrow type
  /// (compiler/ops/narrow.h) this type again, by Casts. Otherwise they have the wider type that
  /// holds them in the graph.
  bool narrow_ends = false;
};

/// Returns the graph as the bytes of an ONNX model, including the weights. Writes each operator in
/// the form of the chosen set: in an older set, Clip, Dropout, Pad, ReduceSum, Slice, Softmax,
/// Split, Squeeze, TopK and Unsqueeze have attributes for inputs that are constants; in a newer
/// one, reductions and DFT have inputs for attributes. Checks every node against the signature that
/// the set gives its operator. The IR version is the one that came with the set. Metadata becomes
/// model properties, except "onnx." keys. Nested graphs are written with their nodes; their own
/// values and nodes get other names where a graph around them has the same. ImportOnnxBytes of the
/// result gives the same graph (with opset 17 and kKeep, up to metadata and layouts, and names in
/// nested graphs).
///
/// Throws UserError, which names the node, if the chosen set cannot express a node; also for
/// operators of domain "msc" (export before fusing), an opset out of range, and a model of 2 GiB or
/// more. Source: ONNX IR specification, version 13, and the onnx package's table of versions.
[[nodiscard]] std::string ExportOnnxBytes(const Graph& graph, const ExportOptions& options = {});
/// Writes the model with WriteFileAtomic. Throws SystemError if it cannot; never leaves a partial
/// file.
void ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});

struct OnnxFile {
  std::string bytes;
  std::int64_t opset = 0;
};
/// Returns the model at the oldest operator set, from `options.opset` on, that can express all of
/// its nodes. UserError as ExportOnnxBytes, of the newest set if none can.
[[nodiscard]] OnnxFile ExportAtOldestSet(const Graph& graph, const ExportOptions& options = {});

}  // namespace msc
