#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace onnx {
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace msc::detail {

/// ONNX element type number (TensorProto.DataType) to ours, for all 16 of IR version 8.
[[nodiscard]] std::optional<DType> FromOnnxType(std::int64_t number);

/// What ONNX calls an element type that came after those, up to IR version 14, and that no Graph
/// holds; empty for any other number.
[[nodiscard]] std::string_view NewerTypeName(std::int64_t number);

/// `what` names the tensor in messages. Throws UserError for sizes past `options.limits`, a payload
/// that is not exactly shape x type, values that do not fit, external data that cannot be read.
[[nodiscard]] Tensor ReadTensorProto(const onnx::TensorProto& proto, const std::string& what,
                                     const ImportOptions& options);

/// Type of a value; kUndefined where the model does not say. UserError for maps and sparse tensors.
[[nodiscard]] ValueType ReadTypeProto(const onnx::TypeProto& proto, const std::string& what,
                                      const ImportLimits& limits);

}  // namespace msc::detail
