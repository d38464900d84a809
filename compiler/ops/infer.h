#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace msc {

// Helpers of the inference functions. To reject a node, they throw UserError, which names the node.

/// Throws UserError "node 'NAME' (OP): WHAT".
[[noreturn]] void RejectNode(const Node& node, const std::string& what);

/// Returns the element type of an input; kUndefined if absent or unknown.
[[nodiscard]] DType TypeOf(const InferInput& in, std::size_t index);
/// Returns the shape of an input, or nullptr if it is absent or of unknown rank.
[[nodiscard]] const Shape* ShapeOf(const InferInput& in, std::size_t index);
/// Returns whether the node has this input.
[[nodiscard]] bool HasInput(const InferInput& in, std::size_t index);

/// Rejects an input whose known type is not one of `allowed`.
void RequireType(const InferInput& in, std::size_t index, std::initializer_list<DType> allowed);
/// Rejects known types of inputs `a` and `b` that differ; returns the known one.
DType RequireSameType(const InferInput& in, std::size_t a, std::size_t b);
/// Rejects an input whose known rank is below `least`.
void RequireRank(const InferInput& in, std::size_t index, std::size_t least);

/// Returns the integers of a constant input (i32 or i64, a scalar or a list); nullopt if it is
/// absent or not constant. Rejects more than 64 entries: the lists are shapes and axes, so a longer
/// one is an error.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantInts(const InferInput& in,
                                                                    std::size_t index);
/// Returns the integer of a constant input of one element; nullopt if it is absent or not constant.
/// Rejects another number of elements, and other types.
[[nodiscard]] std::optional<std::int64_t> ConstantInt(const InferInput& in, std::size_t index);
/// Returns the length of a list input that is not constant; nullopt if unknown or above 64.
[[nodiscard]] std::optional<std::size_t> ListLength(const InferInput& in, std::size_t index);

/// Converts an axis in [-rank, rank) to [0, rank).
[[nodiscard]] std::size_t NormalAxis(const Node& node, std::int64_t axis, std::size_t rank);
/// Normalizes and sorts axes, which must be distinct.
[[nodiscard]] std::vector<std::size_t> NormalAxes(const Node& node,
                                                  const std::vector<std::int64_t>& axes,
                                                  std::size_t rank);

/// Combines two sizes that must be equal; returns the more specific one.
[[nodiscard]] Dim MergeDims(const Node& node, const Dim& a, const Dim& b);
/// Broadcasts as numpy does. A symbol with 1 stays; two different symbols give an unknown size.
[[nodiscard]] Shape BroadcastShapes(const Node& node, const Shape& a, const Shape& b);
/// Broadcasts all inputs; nullopt if a rank is unknown.
[[nodiscard]] std::optional<Shape> BroadcastInputs(const InferInput& in);
/// Returns the product of dims[begin, end): a number, a single symbol (with ones), or unknown.
/// Rejects a product above 2^40.
[[nodiscard]] Dim ProductOf(const Node& node, const Shape& dims, std::size_t begin,
                            std::size_t end);

/// Returns the type of a single output.
[[nodiscard]] std::vector<ValueType> OneOutput(DType dtype, std::optional<Shape> shape);
/// Infers an operator whose output has the type of input 0, including the layout.
[[nodiscard]] std::vector<ValueType> SameAsFirst(const InferInput& in);

}  // namespace msc
