#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

// Quantized values in registers. Between the sum of a kernel and memory a value is f32, in units of
// one step of the result where that saves a multiplication. A sum and its whole bias are multiplied
// once, by (x scale * w scale) / y scale in f32, and rounded half to even: bit for bit the
// arithmetic of ONNX Runtime. Exact real arithmetic may round a value within an ulp of a tie to the
// other step.

[[nodiscard]] constexpr bool IsQuantized(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

/// Returns the precision of kernels over values of this type, for profiles.
[[nodiscard]] constexpr const char* PrecisionOf(DType x) {
  return IsQuantized(x) ? "int8" : x == DType::kBF16 ? "bf16" : "f32";
}

/// Returns whether Conv, Gemm, Pool or Binary of domain "msc" has types and parameters that the
/// kernels support: X, R and Y f32, bf16, i8 or u8; W f32, bf16 or i8 to match X; constant
/// per-channel parameters if integers are involved; zero points within their type.
[[nodiscard]] bool TakesFused(const Graph& graph, const Node& node);

/// Returns the bias of a Conv or Gemm of domain "msc" over i8 or u8, one per channel, in steps of
/// its sums of products, if it is whole numbers of steps, as the bias of QLinearConv is. Sums start
/// from it and stay exact. Empty if there is no such bias.
[[nodiscard]] std::vector<std::int32_t> WholeBias(const Graph& graph, const Node& node);
/// Largest absolute entry of a whole bias: f32 represents it exactly, also added to sums of 2^23.
inline constexpr std::int64_t kMaxWholeBias = std::int64_t{1} << 22U;

/// Returns whether f(x * s) = f(x) * s for s > 0, once the bounds of Clip are scaled.
[[nodiscard]] bool CommutesWithScale(const Activation& activation);
/// Returns the activation for values in units of `unit`. It must commute, or the unit must be 1.
[[nodiscard]] Activation InUnit(Activation activation, double unit);

/// Returns the real values of `codes` (i8, u8, bf16 or f32) as f32 lanes in units of `unit`.
[[nodiscard]] Expr Dequantized(const Expr& codes, const QuantParams& params, double unit);

/// Converts `value`, f32 lanes in units of `unit`, to `dtype`: f32, bf16, or i8 or u8 rounded half
/// to even and saturated. NaN becomes the lowest code.
[[nodiscard]] Expr Quantized(Expr value, const QuantParams& params, double unit, DType dtype);

/// Returns round_half_even(value) + zero_point, saturated.
[[nodiscard]] Expr Rounded(Expr value, std::int64_t zero_point, DType dtype);

}  // namespace msc::native
