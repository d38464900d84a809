#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

// Integers of quantized values in registers. Between the sum of a kernel and its memory a value is
// f32, in units of what one step of the result is worth where that saves a multiplication. A sum
// and its whole bias are multiplied once, by (x scale * w scale) / y scale in f32, and rounded half
// to even: the arithmetic of ONNX Runtime, to the bit. Real numbers may round to the next step
// instead where they are within an ulp of a tie.

[[nodiscard]] constexpr bool IsQuantized(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

/// What kernels over values of this type multiply in, for profiles.
[[nodiscard]] constexpr const char* PrecisionOf(DType x) {
  return IsQuantized(x) ? "int8" : x == DType::kBF16 ? "bf16" : "f32";
}

/// Whether Conv, Gemm, Pool or Binary of domain "msc" has types and parameters that the kernels
/// take: X, R and Y f32, bf16, i8 or u8, W f32, bf16 or i8 as X is; what belongs to a channel a
/// constant where integers are involved; zero points inside their type.
[[nodiscard]] bool TakesFused(const Graph& graph, const Node& node);

/// The bias of a Conv or Gemm of domain "msc" over i8 or u8, one a channel, in steps of its sums of
/// products, where it is whole numbers of them, as that of QLinearConv is: sums start from it, and
/// are as exact as before. Empty where it is something else, or there is none.
[[nodiscard]] std::vector<std::int32_t> WholeBias(const Graph& graph, const Node& node);
/// No entry of such a bias is larger: f32 tells steps of it apart, and holds it with sums of 2^23.
inline constexpr std::int64_t kMostWholeBias = std::int64_t{1} << 22U;

/// Whether f(x * s) = f(x) * s for s > 0, once the bounds of Clip are scaled.
[[nodiscard]] bool CommutesWithScale(const Activation& activation);
/// The activation of values in units of `unit`. It commutes, or the unit is 1.
[[nodiscard]] Activation InUnit(Activation activation, double unit);

/// f32 lanes: what `codes` (i8, u8, bf16 or f32) stand for, in units of `unit`.
[[nodiscard]] Expr Dequantized(const Expr& codes, const QuantParams& params, double unit);

/// `value`, f32 lanes in units of `unit`, as `dtype`: f32, bf16, or i8 or u8 rounded half to even
/// and saturated. A NaN becomes the lowest.
[[nodiscard]] Expr Quantized(Expr value, const QuantParams& params, double unit, DType dtype);

/// round_half_even(value) + zero_point, saturated.
[[nodiscard]] Expr Rounded(Expr value, std::int64_t zero_point, DType dtype);

}  // namespace msc::native
