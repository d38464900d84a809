#pragma once

#include <cstdint>
#include <string>

#include "compiler/import/onnx/import.h"
#include "compiler/ir/attr.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace msc::detail {

/// Converts an attribute. `what` names node and attribute in messages. Throws UserError for
/// unsupported kinds: nested graphs, sparse tensors, types, references to attributes of a function.
[[nodiscard]] Attr ReadAttribute(const onnx::AttributeProto& proto, const std::string& what,
                                 const ImportOptions& options);

/// Returns the tensor of a Constant node in any of its forms (Constant-13). `what` names the node.
[[nodiscard]] Tensor ReadConstantNode(const onnx::NodeProto& proto, const std::string& what,
                                      const ImportOptions& options);

}  // namespace msc::detail
