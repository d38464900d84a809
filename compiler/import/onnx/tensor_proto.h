#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace onnx {
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace msc::detail {

/// Converts an ONNX element type number (TensorProto.DataType) to DType: all 16 types of IR version
/// 8. Returns nullopt for other numbers.
[[nodiscard]] std::optional<DType> FromOnnxType(std::int64_t number);

/// Returns the ONNX name of an element type that was added after IR version 8, up to 14, and that
/// Graph does not support; empty for other numbers.
[[nodiscard]] std::string_view NewerTypeName(std::int64_t number);

/// Converts a tensor. `what` names it in messages. Throws UserError for sizes beyond
/// `options.limits`, a payload that does not match shape and type exactly, values out of range, or
/// unreadable external data.
[[nodiscard]] Tensor ReadTensorProto(const onnx::TensorProto& proto, const std::string& what,
                                     const SourceOptions& options);

/// Converts the type of a value; kUndefined if the model omits it. Throws UserError for maps and
/// sparse tensors.
[[nodiscard]] ValueType ReadTypeProto(const onnx::TypeProto& proto, const std::string& what,
                                      const ImportLimits& limits);

}  // namespace msc::detail
