#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/with_type.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op.h"

namespace msc {

// Helpers of the reference kernels.

using EvalFn = decltype(OpDef::eval);
using InferFn = decltype(OpDef::infer);
using EvalInputs = std::span<const Tensor* const>;

/// Returns the inputs for inference, all as constants. The result refers to `inputs` and must not
/// outlive them.
[[nodiscard]] InferInput InferInputOf(const Node& node, EvalInputs inputs);
/// Infers the output types from `inputs`, whose values inference may read. Kernels thus reject the
/// same inputs as inference, with the same messages, and produce the inferred shapes.
[[nodiscard]] std::vector<ValueType> InferFor(const InferFn& infer, const Node& node,
                                              EvalInputs inputs);
/// Returns zeroed outputs of the inferred types. Throws UserError if inference leaves a type open
/// or a tensor would take more than 16 GiB.
[[nodiscard]] std::vector<Tensor> NewOutputs(const InferFn& infer, const Node& node,
                                             EvalInputs inputs);

/// Returns the input, or nullptr if the node does not have it.
[[nodiscard]] inline const Tensor* InputAt(EvalInputs inputs, std::size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

/// Converts f16, bf16, f32 or f64 values to f32. Throws InternalError for other types.
[[nodiscard]] Tensor ToF32(const Tensor& tensor);
/// Rounds f32 values to f16 or bf16 (to nearest, ties to even); returns a copy if `dtype` is f32.
[[nodiscard]] Tensor FromF32(const Tensor& tensor, DType dtype);
/// Returns element `index` of a numeric or bool tensor as a double. Throws UserError for other
/// types.
[[nodiscard]] double NumberAt(const Tensor& tensor, std::int64_t index);
/// Returns element `index` of a tensor of i64 or narrower integers, exactly. Throws as NumberAt.
[[nodiscard]] std::int64_t IntegerAt(const Tensor& tensor, std::int64_t index);

/// Extends an f32 kernel to f16 and bf16: widens such inputs, runs the kernel in f32, and rounds
/// its f32 outputs once, to the type of the first floating-point input.
[[nodiscard]] EvalFn ViaF32(EvalFn eval);

/// Returns row-major strides, in elements.
[[nodiscard]] Dims StridesOf(const Dims& dims);
/// Returns the strides for reading a tensor of `dims` as shape `out`: 0 along broadcast axes.
[[nodiscard]] Dims BroadcastStrides(const Dims& dims, const Dims& out);
/// Calls `visit` for every position of all axes but the last, with the offset of each operand. Each
/// list in `strides` has the rank of `dims`. Makes no call for an empty tensor.
void ForEachRow(const Dims& dims, const std::vector<Dims>& strides,
                const std::function<void(std::span<const std::int64_t> offsets)>& visit);

/// Returns the number of elements; 0 if not all dims are known.
[[nodiscard]] double ElementsOf(const ValueType& type);
/// Returns one flop per output element.
[[nodiscard]] double OneFlopEach(const Node& node, std::span<const ValueType> in,
                                 std::span<const ValueType> out);

[[noreturn]] void RejectType(const Node& node, DType dtype);

/// Calls `body.template operator()<T>()` with the C++ type T of f32 or f64; throws UserError for
/// other types.
template <class Body>
decltype(auto) WithFloat(const Node& node, DType dtype, Body&& body) {
  if (dtype == DType::kF32) return body.template operator()<float>();
  if (dtype == DType::kF64) return body.template operator()<double>();
  RejectType(node, dtype);
}

/// Does the same as WithFloat, for i32, i64, u32 and u64 too.
template <class Body>
decltype(auto) WithSummand(const Node& node, DType dtype, Body&& body) {
  if (dtype == DType::kI32) return body.template operator()<std::int32_t>();
  if (dtype == DType::kI64) return body.template operator()<std::int64_t>();
  if (dtype == DType::kU32) return body.template operator()<std::uint32_t>();
  if (dtype == DType::kU64) return body.template operator()<std::uint64_t>();
  return WithFloat(node, dtype, std::forward<Body>(body));
}

/// Does the same as WithFloat, for all integer types too.
template <class Body>
decltype(auto) WithNumber(const Node& node, DType dtype, Body&& body) {
  if (IsInteger(dtype)) return WithInteger(dtype, std::forward<Body>(body));
  return WithFloat(node, dtype, std::forward<Body>(body));
}

}  // namespace msc
