#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/ir/run_value.h"

namespace msc {

/// Limits on what a model file may request. Files are untrusted: a few hundred bytes can claim
/// gigabytes.
struct ImportLimits {
  std::uint64_t file_bytes = std::uint64_t{16} << 30U;
  std::uint64_t structure_bytes = std::uint64_t{1} << 30U;  ///< of a file without its raw_data
  std::uint64_t messages = 2'000'000;                       ///< protobuf submessages and strings
  std::uint64_t decoded_factor = 4;                         ///< decoded bytes <= factor * file ...
  std::uint64_t decoded_extra = std::uint64_t{64} << 20U;   ///< ... + this
  std::uint32_t message_depth = 64;                         ///< nesting of protobuf messages
  std::uint64_t nodes = 200'000;                            ///< in total
  std::uint64_t initializers = 100'000;                     ///< in total
  std::uint64_t name_bytes = 4096;                          ///< of one name
  std::uint64_t rank = 16;                                  ///< of one tensor
  std::int64_t dim = std::int64_t{1} << 31U;                ///< one dimension
  std::int64_t elements = std::int64_t{1} << 40U;           ///< of one tensor
  std::uint64_t tensor_bytes = std::uint64_t{16} << 30U;    ///< of one tensor
};

/// How large tensors in files of external data are kept.
enum class ExternalStorage : std::uint8_t {
  kMapped,  ///< Tensor::View of the file: it must not change while the graph lives (MappedFile)
  kCopied,  ///< in memory
};

struct ImportOptions {
  ImportLimits limits;
  ExternalStorage external_data = ExternalStorage::kMapped;
  /// For ImportOnnxBytes: the folder of external data. Empty rejects external data. ImportOnnx uses
  /// the folder of the file.
  std::string external_folder;
  /// If not empty, is called with a graph that has its inputs and no nodes yet, and may give them
  /// sizes: these may decide which branch of an If runs.
  std::function<void(Graph&)> set_inputs = {};
  /// If not empty, is called for every graph input, and may return the value that it always has:
  /// the input becomes this constant, which may decide which branch of an If runs.
  std::function<TensorPtr(const std::string& name, const ValueType& type)> fix_input = {};
};

/// Imports an ONNX model of operator set 1 to 28 and IR version 3 to 14, or of a newer one, up to
/// ListedOpset of operator_sets.h, that has changed none of its operators. The graph uses operator
/// set 17; other forms are converted, or rejected if set 17 cannot express them. `Constant` nodes
/// become constants, `Dropout` becomes `Identity`. Functions of the model are inlined. Of an `If`
/// whose condition follows from known sizes and constants, the branch that runs is read. Of
/// another, whose branches give tensors of the same types and sizes, both run and `Where` chooses;
/// else the node is kept with its branches as nested graphs. Nodes are in topological order, and in
/// the order of the file where possible; unnamed ones are named by operator and position
/// ("Conv_12"). Types are inferred and the graph is verified. Initializers that are also graph
/// inputs become constants. Metadata: "onnx.ir_version", "onnx.opset", "onnx.producer_name",
/// "onnx.producer_version", "onnx.domain", "onnx.model_version", and the model's own properties
/// under their keys. Operators of ONNX Runtime's domain com.microsoft are converted, too.
///
/// Safe for untrusted files: throws UserError, which names the file and the place (for an operator
/// that compiler/ops does not have: node position, node name, operator, domain, operator set).
/// Reads external data only below the folder of the model, follows no links, and verifies checksums
/// that the model gives. Takes as much memory as the tensors in the model's own file, and little
/// more; see ExternalStorage for those in others. Sources: ONNX IR specification, Operators and
/// Changelog pages, up to operator set 28.
[[nodiscard]] Graph ImportOnnx(const std::string& path, const ImportOptions& options = {});
/// Imports the content of a model file; messages call it "model".
[[nodiscard]] Graph ImportOnnxBytes(std::string_view bytes, const ImportOptions& options = {});

/// Imports a file with one TensorProto, as in ONNX's backend tests. Throws UserError, which names
/// the file.
[[nodiscard]] Tensor ImportOnnxTensor(const std::string& path, const ImportOptions& options = {});

/// Imports a file with the value of a graph input or output of type `type`: a TensorProto, a
/// SequenceProto or an OptionalProto. Throws UserError, which names the file.
[[nodiscard]] RunValue ImportOnnxValue(const std::string& path, const ValueType& type,
                                       const ImportOptions& options = {});

}  // namespace msc
