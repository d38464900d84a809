#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace onnx {
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace msc::detail {

/// Returns the type in which a graph has values of an ONNX element type: DType, or
/// NarrowType::held. Returns nullopt for other numbers.
[[nodiscard]] std::optional<DType> HeldType(std::int64_t number);

/// Converts a tensor; one of a narrow type becomes one of the type that holds it. `what` names it
/// in messages. Throws UserError for sizes beyond `options.limits`, a payload that does not match
/// shape and type exactly, values out of range, or unreadable external data.
[[nodiscard]] Tensor ReadTensorProto(const onnx::TensorProto& proto, const std::string& what,
                                     const SourceOptions& options);

/// Converts the type of a value; kUndefined if the model omits it. Throws UserError for maps and
/// sparse tensors.
[[nodiscard]] ValueType ReadTypeProto(const onnx::TypeProto& proto, const std::string& what,
                                      const ImportLimits& limits);

}  // namespace msc::detail
