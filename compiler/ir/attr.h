#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {

class Graph;

using TensorPtr = std::shared_ptr<const Tensor>;
using GraphPtr = std::shared_ptr<const Graph>;

/// One attribute of a node: the kinds of ONNX AttributeProto. From import to export a value keeps
/// its type and its bits; floats stay 32-bit and never pass through text.
using Attr = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                          std::vector<float>, std::vector<std::string>, TensorPtr, GraphPtr,
                          std::vector<TensorPtr>, std::vector<GraphPtr>>;

/// Returns whether both have the same kind and the same bits; tensors and graphs are compared by
/// content.
[[nodiscard]] bool SameAttr(const Attr& a, const Attr& b);

using AttrMap = std::map<std::string, Attr, std::less<>>;

}  // namespace msc
