#pragma once

#include <string>

#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/ir/tensor.h"

namespace onnx {
class SparseTensorProto;
}  // namespace onnx

namespace msc::detail {

/// Converts a sparse tensor to one that has its zeros, too. Its indices are positions in the whole
/// tensor, [N], or one for each dimension, [N, rank], and increase. `what` names it in messages.
/// Throws UserError as ReadTensorProto, for indices out of range, and for more bytes in all than a
/// file of this size may take. Source: ONNX IR specification, sparse tensors.
[[nodiscard]] Tensor ReadSparseTensor(const onnx::SparseTensorProto& proto, const std::string& what,
                                      const SourceOptions& options);

}  // namespace msc::detail
