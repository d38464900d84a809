#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"

namespace msc {

/// GELU as exporters write it: a tree of Mul over x, one half, and 1 + Erf(x / sqrt 2) or 1 +
/// Tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), in any order and grouping.
struct GeluMatch {
  ValueId x = kNoValue;
  Activation activation = {};  ///< Gelu or GeluTanh
  std::vector<NodeId> nodes;   ///< in graph order; the last one computes the result
};

/// Returns the GELU whose last node is `root`, if there is one and its intermediate values have no
/// other readers. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016), equations 1
/// and 2.
[[nodiscard]] std::optional<GeluMatch> MatchGelu(const Graph& graph, NodeId root);

/// Returns the GELU of `value`, if it has no other readers.
[[nodiscard]] std::optional<GeluMatch> FindGelu(const Graph& graph, ValueId value);

}  // namespace msc
