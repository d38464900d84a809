#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// How operators compute the same on values whose axes are in another order. No pass.

/// An order of axes as of Transpose: axis i of the result is axis perm[i] of the operand.
using Perm = std::vector<std::int64_t>;

/// Returns the order of a Transpose, or nothing if the node is another one or its rank is unknown.
[[nodiscard]] std::optional<Perm> PermOf(const Graph& graph, const Node& node);
[[nodiscard]] Perm Inverse(const Perm& perm);
/// Returns the order of both, `first` applied first.
[[nodiscard]] Perm Composed(const Perm& first, const Perm& second);
[[nodiscard]] bool IsIdentity(const Perm& perm);
/// Returns whether a Transpose of a value moves only axes of size 1, so that a Reshape does it. All
/// sizes must be known.
[[nodiscard]] bool IsReshape(const ValueType& type, const Perm& perm);
/// Returns the type of a Transpose of a value. The shape must be known.
[[nodiscard]] ValueType Transposed(ValueType type, const Perm& perm);

/// A node in a graph where inputs have their axes in another order.
struct MovedNode {
  AttrMap attrs;
  std::vector<std::size_t> moved;  ///< inputs whose axes move
  std::map<std::size_t, Tensor>
      constants;  ///< inputs that change: lists with an entry for each axis
  Perm output;    ///< what the node made is Transpose(what it makes now, output)
};

/// Returns what a node with one output becomes if each of its inputs `moved`, x = Transpose(x',
/// perm), is replaced by x'. Constants among them are as the node has them. Nothing for other
/// operators than those that compute element by element, Concat, Pad, QuantizeLinear,
/// DequantizeLinear, reductions, Slice and Softmax, and if their axes are not constant. Sources:
/// ONNX operator pages, set 17.
[[nodiscard]] std::optional<MovedNode> MoveAxes(const Graph& graph, const Node& node,
                                                const Perm& perm);

}  // namespace msc
