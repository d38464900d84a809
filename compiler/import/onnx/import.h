#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace msc {

/// What a model file may ask for before it is refused. Files come from outside: a few hundred bytes
/// can announce gigabytes.
struct ImportLimits {
  std::uint64_t file_bytes = std::uint64_t{1} << 30U;      ///< at most 2 GiB - 1 (protobuf)
  std::uint64_t messages = 2'000'000;                      ///< protobuf submessages and strings
  std::uint64_t decoded_factor = 4;                        ///< decoded bytes <= factor * file ...
  std::uint64_t decoded_extra = std::uint64_t{64} << 20U;  ///< ... + this
  std::uint32_t message_depth = 64;                        ///< nesting of protobuf messages
  std::uint64_t nodes = 200'000;                           ///< in all
  std::uint64_t initializers = 100'000;                    ///< in all
  std::uint64_t name_bytes = 4096;                         ///< of one name
  std::uint64_t rank = 16;                                 ///< of one tensor
  std::int64_t dim = std::int64_t{1} << 31U;               ///< one size
  std::int64_t elements = std::int64_t{1} << 40U;          ///< of one tensor
  std::uint64_t tensor_bytes = std::uint64_t{16} << 30U;   ///< of one tensor
};

struct ImportOptions {
  ImportLimits limits;
  /// ImportOnnxBytes only: where external data lies. Empty refuses external data. ImportOnnx uses
  /// the folder of the file.
  std::string external_folder;
};

/// Reads an ONNX model: operator set 1 to 20, IR version 3 to 13. The graph speaks operator set 17:
/// other forms are rewritten, or refused where they say what set 17 cannot; `Constant` nodes become
/// constants, `Dropout` becomes `Identity`. Nodes are in topological order and in the order of the
/// file where that allows it; unnamed ones are called by operator and position ("Conv_12"). Types
/// are inferred and the graph is verified. Initializers that are graph inputs too are constants.
/// Metadata: "onnx.ir_version", "onnx.opset", "onnx.producer_name", "onnx.producer_version",
/// "onnx.domain", "onnx.model_version" and the model's own properties by their keys.
///
/// Safe on hostile bytes: throws UserError naming the file and the place (for an operator that
/// compiler/ops does not have: node position, node name, operator, domain, operator set).
/// External data is read below the folder of the model only, through no links, and is what the
/// model's checksums say.
/// Sources: ONNX IR specification, Operators and Changelog pages, up to operator set 20.
[[nodiscard]] Graph ImportOnnx(const std::string& path, const ImportOptions& options = {});
/// `bytes` is the content of a model file; messages call it "model".
[[nodiscard]] Graph ImportOnnxBytes(std::string_view bytes, const ImportOptions& options = {});

/// Reads a file that holds one TensorProto, as ONNX's backend tests do. UserError naming the file.
[[nodiscard]] Tensor ImportOnnxTensor(const std::string& path, const ImportOptions& options = {});

}  // namespace msc
