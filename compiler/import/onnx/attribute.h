#pragma once

#include <cstdint>
#include <string>

#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/ir/attr.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace msc::detail {

/// Converts an attribute. `what` names node and attribute in messages. Throws UserError for
/// unsupported kinds: nested graphs, lists of sparse tensors, types, references to attributes of a
/// function.
[[nodiscard]] Attr ReadAttribute(const onnx::AttributeProto& proto, const std::string& what,
                                 const SourceOptions& options);

/// Returns the tensor of a Constant node in any of its forms (Constant-13). `what` names the node.
[[nodiscard]] TensorPtr ReadConstantNode(const onnx::NodeProto& proto, const std::string& what,
                                         const SourceOptions& options);

}  // namespace msc::detail
