#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Small questions that the passes which recognise written-out functions share.

/// The node of domain "" that makes `value`, if it is `op`; else nullptr.
[[nodiscard]] const Node* MadeBy(const Graph& graph, ValueId value, std::string_view op);

/// The number, if `value` is an f32 constant of one element (of at most `rank` dimensions, so that
/// broadcasting against a value of that rank changes no shape).
[[nodiscard]] std::optional<float> ScalarOf(const Graph& graph, ValueId value,
                                            std::size_t rank = 16);

/// `value` op `scalar`.
struct ScalarStep {
  ValueId value = kNoValue;
  float scalar = 0.0F;
};
/// An Add or Mul of a scalar constant on either side, or a Sub, Div or Pow by one; nullopt if the
/// node is none or its value is not f32 of a known rank.
[[nodiscard]] std::optional<ScalarStep> ReadScalarStep(const Graph& graph, const Node& node);

/// Equal up to what writing a number as f32, or computing it in f32, changes.
[[nodiscard]] bool Near(float a, double b);

/// A product written out as Mul, Div by a number and Pow with a small whole exponent.
struct Product {
  double factor = 1.0;          ///< all numbers in it
  std::vector<ValueId> values;  ///< the rest; squares twice
  std::vector<NodeId> nodes;    ///< the nodes it is written with
};
/// The product that `value` is: a single value at worst. Steps with other readers than the product
/// are left whole, except the last one, which makes `value`.
[[nodiscard]] Product ReadProduct(const Graph& graph, ValueId value);

}  // namespace msc
