#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace msc {

// Vocabulary of the inference functions. Everything that refuses throws UserError naming the node.

/// Throws UserError "node 'NAME' (OP): WHAT".
[[noreturn]] void RefuseNode(const Node& node, const std::string& what);

/// Element type of an input; kUndefined where absent or unknown.
[[nodiscard]] DType TypeOf(const InferInput& in, std::size_t index);
/// Shape of an input, or nullptr where absent or of unknown rank.
[[nodiscard]] const Shape* ShapeOf(const InferInput& in, std::size_t index);
/// Whether the node has this input.
[[nodiscard]] bool HasInput(const InferInput& in, std::size_t index);

/// Refuses an input whose known type is not one of `allowed`.
void RequireType(const InferInput& in, std::size_t index, std::initializer_list<DType> allowed);
/// Refuses known types of inputs `a` and `b` that differ; returns the known one.
DType RequireSameType(const InferInput& in, std::size_t a, std::size_t b);
/// Refuses an input whose known rank is below `least`.
void RequireRank(const InferInput& in, std::size_t index, std::size_t least);

/// The integers of a constant input (i32 or i64, a scalar or a list); nullopt if it is absent or no
/// constant. Refuses more than 64 entries: shapes are short, so a longer one is a mistake.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantInts(const InferInput& in,
                                                                    std::size_t index);
/// Number of entries of a list input that is not constant; nullopt if unknown or above 64.
[[nodiscard]] std::optional<std::size_t> ListLength(const InferInput& in, std::size_t index);

/// An axis of -rank..rank-1 as 0..rank-1.
[[nodiscard]] std::size_t NormalAxis(const Node& node, std::int64_t axis, std::size_t rank);
/// Distinct axes, each normalized, ascending.
[[nodiscard]] std::vector<std::size_t> NormalAxes(const Node& node,
                                                  const std::vector<std::int64_t>& axes,
                                                  std::size_t rank);

/// Two sizes that must be equal: the better known of both.
[[nodiscard]] Dim MergeDims(const Node& node, const Dim& a, const Dim& b);
/// numpy broadcasting. A symbol against 1 stays; two different symbols give unknown.
[[nodiscard]] Shape BroadcastShapes(const Node& node, const Shape& a, const Shape& b);
/// Broadcast of all inputs; nullopt if a rank is unknown.
[[nodiscard]] std::optional<Shape> BroadcastInputs(const InferInput& in);
/// Product of dims[begin, end): a number, a single symbol times ones, or unknown. Refuses a product
/// above 2^40.
[[nodiscard]] Dim ProductOf(const Node& node, const Shape& dims, std::size_t begin,
                            std::size_t end);

/// One output of that type.
[[nodiscard]] std::vector<ValueType> OneOutput(DType dtype, std::optional<Shape> shape);
/// Inference of operators whose output is like input 0 (layout too).
[[nodiscard]] std::vector<ValueType> SameAsFirst(const InferInput& in);

}  // namespace msc
