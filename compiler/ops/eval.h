#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op.h"

namespace msc {

// Vocabulary of the reference kernels.

using EvalFn = decltype(OpDef::eval);
using InferFn = decltype(OpDef::infer);
using EvalInputs = std::span<const Tensor* const>;

/// The inputs as inference sees them when all are constant. Lends the tensors for the call.
[[nodiscard]] InferInput InferInputOf(const Node& node, EvalInputs inputs);
/// Types of the outputs for these inputs, all of which inference may read: so kernels refuse what
/// inference refuses, with the same words, and make the shapes it promises.
[[nodiscard]] std::vector<ValueType> InferFor(const InferFn& infer, const Node& node,
                                              EvalInputs inputs);
/// Zeroed outputs of the inferred types. UserError if inference leaves one open or a tensor would
/// take more than 16 GiB.
[[nodiscard]] std::vector<Tensor> NewOutputs(const InferFn& infer, const Node& node,
                                             EvalInputs inputs);

/// The input, or nullptr if the node does not have it.
[[nodiscard]] inline const Tensor* InputAt(EvalInputs inputs, std::size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

/// f16, bf16, f32 or f64 values as f32. InternalError for other types.
[[nodiscard]] Tensor ToF32(const Tensor& tensor);
/// f32 values rounded to f16, bf16 (nearest, ties to even) or kept.
[[nodiscard]] Tensor FromF32(const Tensor& tensor, DType dtype);
/// The number of any numeric or bool tensor at `index`, as a double.
[[nodiscard]] double NumberAt(const Tensor& tensor, std::int64_t index);

/// Lifts a kernel for f32 to f16 and bf16: inputs of these types are widened, the kernel runs in
/// f32, and its f32 outputs are rounded once, to the type of the first input of floats.
[[nodiscard]] EvalFn ViaF32(EvalFn eval);

/// Row-major strides in elements.
[[nodiscard]] Dims StridesOf(const Dims& dims);
/// Strides of a tensor of `dims` read under the broadcast shape `out`: 0 along stretched axes.
[[nodiscard]] Dims BroadcastStrides(const Dims& dims, const Dims& out);
/// Calls `visit` for every position of all axes but the last with the offsets of each operand.
/// Lists of strides have the rank of `dims`. Nothing is called for an empty tensor.
void ForEachRow(const Dims& dims, const std::vector<Dims>& strides,
                const std::function<void(std::span<const std::int64_t> offsets)>& visit);

/// Elements of a type; 0 if not all dims are numbers.
[[nodiscard]] double ElementsOf(const ValueType& type);
/// flops of one operation an output element.
[[nodiscard]] double OneFlopEach(const Node& node, std::span<const ValueType> in,
                                 std::span<const ValueType> out);

[[noreturn]] void RefuseType(const Node& node, DType dtype);

/// Calls `body(std::type_identity<T>{})` with the C++ type of a real numeric type; refuses others.
template <class Body>
decltype(auto) WithNumber(const Node& node, DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32:
      return body(std::type_identity<float>{});
    case DType::kF64:
      return body(std::type_identity<double>{});
    case DType::kI8:
      return body(std::type_identity<std::int8_t>{});
    case DType::kU8:
      return body(std::type_identity<std::uint8_t>{});
    case DType::kI16:
      return body(std::type_identity<std::int16_t>{});
    case DType::kU16:
      return body(std::type_identity<std::uint16_t>{});
    case DType::kI32:
      return body(std::type_identity<std::int32_t>{});
    case DType::kU32:
      return body(std::type_identity<std::uint32_t>{});
    case DType::kI64:
      return body(std::type_identity<std::int64_t>{});
    case DType::kU64:
      return body(std::type_identity<std::uint64_t>{});
    default:
      RefuseType(node, dtype);
  }
}

/// As WithNumber, for f32 and f64 only.
template <class Body>
decltype(auto) WithFloat(const Node& node, DType dtype, Body&& body) {
  if (dtype == DType::kF32) return body(std::type_identity<float>{});
  if (dtype == DType::kF64) return body(std::type_identity<double>{});
  RefuseType(node, dtype);
}

}  // namespace msc
