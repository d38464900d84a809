#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <optional>

#include "compiler/targets/onednn/elementwise.h"

namespace msc::onednn {

/// Add, Sub, Mul or Div of `value` and a constant number, in either order, as a linear function of
/// `value`; none for other nodes and for a number by a tensor.
[[nodiscard]] std::optional<Function> LinearOf(const Graph& graph, const Node& node, ValueId value);

}  // namespace msc::onednn
