#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <optional>

#include "compiler/targets/onednn/elementwise.h"

namespace msc::onednn {

/// Returns the linear function of `value` that an Add, Sub, Mul or Div of `value` and a constant
/// number computes, with the operands in either order. Returns nullopt for other nodes and for a
/// number divided by a tensor.
[[nodiscard]] std::optional<Function> LinearOf(const Graph& graph, const Node& node, ValueId value);

}  // namespace msc::onednn
