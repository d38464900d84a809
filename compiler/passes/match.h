#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Helpers of the passes that recognize functions which exporters write out.

/// Returns the node of domain "" and operator `op` that produces `value`; otherwise nullptr.
[[nodiscard]] const Node* MadeBy(const Graph& graph, ValueId value, std::string_view op);

/// Returns the number if `value` is an f32 constant with one element and at most `rank` dimensions,
/// so that broadcasting with a value of that rank does not change the shape.
[[nodiscard]] std::optional<float> ScalarOf(const Graph& graph, ValueId value,
                                            std::size_t rank = 16);

/// An operation on `value` and `scalar`.
struct ScalarStep {
  ValueId value = kNoValue;
  float scalar = 0.0F;
};
/// Reads an Add or Mul with a scalar constant on either side, or a Sub, Div or Pow by one. Returns
/// nullopt for other nodes, or if the value is not f32 of known rank.
[[nodiscard]] std::optional<ScalarStep> ReadScalarStep(const Graph& graph, const Node& node);

/// Returns whether a equals b up to a relative error of 1e-5, which covers writing or computing the
/// number in f32.
[[nodiscard]] bool Near(float a, double b);

/// A product of Mul, Div by a number, and Pow with a small integer exponent, flattened.
struct Product {
  double factor = 1.0;          ///< product of all numbers
  std::vector<ValueId> values;  ///< the other factors; a square counts twice
  std::vector<NodeId> nodes;    ///< nodes of the product
};
/// Flattens the product that `value` is; in the simplest case, the value itself. A step that has
/// other readers counts as a factor, unless it produces `value`.
[[nodiscard]] Product ReadProduct(const Graph& graph, ValueId value);

}  // namespace msc
