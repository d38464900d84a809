#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Operators of domain "msc": what the fusion and Q/DQ folding passes make and fast targets take.
//
//   msc.Conv (X, W, B?, R?, w_scale?, slope?)   X [N,C,spatial...], W [M,C/group,kernel...]
//   msc.Gemm (X, W, B?, R?, w_scale?, slope?)   X [N...,K], W [M,K], Y [N...,M]: Y = X *
//   transpose(W),
//                                               all leading axes being rows
//   msc.Binary (A, B)                           "op" is Add or Mul; numpy broadcast
//   msc.Pool (X)                                "op" is MaxPool, AveragePool or GlobalAveragePool
//   msc.Gelu (X)                                GELU, f32 or bf16 in and out; see below
//   msc.Attention (Q, K, V, M?)                 attention.h
//
// Meaning, in real numbers:
//   y = activation(sum(deq(X) * deq(W)) + B + deq(R))        R has the shape of Y
//   deq(q) = (q - zero_point) * scale      for i8 and u8; the value itself for f32 and bf16
//   Y = saturate(round_half_even(y / y_scale) + y_zero_point)   or y rounded to f32 or bf16
// The element types of X, W, R and Y are those of the values; accumulation is exact for integers
// and f32 (or wider) for floats. B is always f32 [M]; w_scale is f32 [M] or [1] and present exactly
// when W is i8 (weights have no zero point); slope is f32 [M] or [1], for activation "PRelu".
//
// Everything is computed in double: sums of integers are exact, and a sum of f32 products is
// rounded once, at the end. Padding of a convolution is the real number 0. Scales are positive.
//
// Attributes besides those of FusedAttrs:
//   msc.Conv                kernel_shape, strides, pads, dilations, group as in ONNX Conv, all
//                           present and explicit (auto_pad resolved)
//   msc.Conv, msc.Gemm      "schedule": how the kernel is to be written, text that a target made
//                           (compiler/strategy/schedule.h); no part of the meaning, may be absent
//   msc.Binary              op
//   msc.Gelu                "op", Gelu or GeluTanh as in Activation; none of FusedAttrs
//   msc.Pool                op; kernel_shape, strides, pads, dilations, ceil_mode and
//                           count_include_pad as in ONNX, none for GlobalAveragePool

/// Scale and zero point of one tensor. Meaningful when its type is i8 or u8.
struct QuantParams {
  float scale = 1.0F;
  std::int64_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

/// The closing elementwise function. `op` is empty for none, or one of Relu, Clip (alpha = min,
/// beta = max), Sigmoid, Tanh, HardSigmoid (alpha, beta), HardSwish, Swish (x * sigmoid(x)),
/// LeakyRelu (alpha), PRelu (slope input), Gelu (x * (1 + erf(x / sqrt 2)) / 2), GeluTanh
/// (x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2).
struct Activation {
  std::string op;
  float alpha = 0.0F;
  float beta = 0.0F;
  bool operator==(const Activation&) const = default;
};

/// Attributes shared by the fused operators: "x_scale", "x_zero_point", "r_scale", "r_zero_point",
/// "y_scale", "y_zero_point", "activation", "alpha", "beta", "y_type". For msc.Binary x is A and r
/// is B. In the map, values equal to the ones below are left out, except "y_type".
struct FusedAttrs {
  QuantParams x;
  QuantParams r;
  QuantParams y;
  Activation activation;
  /// Element type of Y: f32, bf16, i8 or u8. As an attribute its number in ONNX
  /// TensorProto.DataType, like `to` of Cast; nothing else says what the node makes.
  DType y_type = DType::kF32;
  bool operator==(const FusedAttrs&) const = default;
};
/// UserError naming the node where an attribute has a wrong type or a value outside its domain.
[[nodiscard]] FusedAttrs ReadFusedAttrs(const Node& node);
void WriteFusedAttrs(const FusedAttrs& attrs, AttrMap& map);

/// The closing function of one real number. `slope` is for PRelu alone.
[[nodiscard]] double Activate(const Activation& activation, double x, double slope);

/// Window of a convolution or pool, resolved: one entry a spatial axis, pads begin and end apart.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  std::int64_t group = 1;
};
/// Reads kernel_shape, strides, dilations, pads, auto_pad, group of a Conv or pool node, from the
/// spatial dims of X and the kernel dims of W (empty for pools). ONNX operator pages Conv-11,
/// MaxPool-12, AveragePool-11. UserError naming the node where they do not fit. Extra padding that
/// ceil_mode asks for is not in pads_end: pools add it. A negative entry of `x_spatial` is a size
/// not known yet; the pads of that axis are then left 0 under auto_pad SAME_*.
[[nodiscard]] Window ReadWindow(const Node& node, const Dims& x_spatial, const Dims& w_kernel);

/// How a last window that hangs over the end counts (attribute ceil_mode of pools).
enum class Rounding : std::uint8_t { kFloor, kCeil };
/// Positions of the window along one axis of `size` entries; >= 0. Under kCeil a window that would
/// start in the end padding is left out.
[[nodiscard]] std::int64_t WindowPositions(const Window& window, std::size_t axis,
                                           std::int64_t size, Rounding rounding);

/// Input positions of msc.Conv and msc.Gemm.
enum FusedInput : std::size_t {
  kFusedX = 0,
  kFusedW = 1,
  kFusedBias = 2,
  kFusedResidual = 3,
  kFusedWeightScale = 4,
  kFusedSlope = 5,
};

}  // namespace msc
