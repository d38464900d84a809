#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Operators of domain "msc", which the fusion and Q/DQ folding passes make for fast targets.
//
//   msc.Conv (X, W, B?, R?, w_scale?, slope?)   X [N,C,spatial...], W [M,C/group,kernel...]
//   msc.Gemm (X, W, B?, R?, w_scale?, slope?)   X [N...,K], W [M,K], Y [N...,M] =
//                                               X * transpose(W); leading axes of X are rows
//   msc.Binary (A, B)                           "op" is Add or Mul; numpy broadcast
//   msc.Pool (X)                                "op" is MaxPool, AveragePool or GlobalAveragePool
//   msc.Gelu (X)                                GELU, f32 or bf16 in and out; see below
//   msc.Attention (Q, K, V, M?)                 attention.h
//
// Semantics, in real numbers:
//   y = activation(sum(deq(X) * deq(W)) + B + deq(R))        R has the shape of Y
//   deq(q) = (q - zero_point) * scale      for i8 and u8; the value itself for f32 and bf16
//   Y = saturate(round_half_even(y / y_scale) + y_zero_point)   or y rounded to f32 or bf16
// The element types of the tensors X, W, R and Y select these formulas. Integers accumulate
// exactly, floats in f32 or wider. B is always f32 [M]. w_scale is f32 [M] or [1] and present
// exactly if W is i8 (weights have no zero point). slope is f32 [M] or [1], for activation "PRelu".
//
// The reference kernels compute in double: integer sums and products of two f32 are exact, and the
// result is rounded to the type of Y once, at the end. The padding of a convolution is the real
// number 0. Scales are positive.
//
// Attributes in addition to those of FusedAttrs:
//   msc.Conv                kernel_shape, strides, pads, dilations, group as in ONNX Conv, all
//                           present and explicit (auto_pad resolved)
//   msc.Conv, msc.Gemm      "schedule": how a target writes the kernel, as the target's own text
//                           (compiler/strategy/schedule.h); no part of the semantics; optional
//   msc.Binary              op
//   msc.Gelu                "op": Gelu or GeluTanh as in Activation; no attributes of FusedAttrs
//   msc.Pool                op; kernel_shape, strides, pads, dilations, ceil_mode and
//                           count_include_pad as in ONNX, none for GlobalAveragePool

/// Scale and zero point of one tensor; used if its type is i8 or u8.
struct QuantParams {
  float scale = 1.0F;
  std::int64_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

/// Elementwise function of the epilogue. `op` is empty for none, or one of Relu, Clip (alpha = min,
/// beta = max), Sigmoid, Tanh, HardSigmoid (alpha, beta), HardSwish, Swish (x * sigmoid(x)),
/// LeakyRelu (alpha), PRelu (slope input), Gelu (x * (1 + erf(x / sqrt 2)) / 2), GeluTanh (x * (1 +
/// tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2).
struct Activation {
  std::string op;
  float alpha = 0.0F;
  float beta = 0.0F;
  bool operator==(const Activation&) const = default;
};

/// Attributes shared by the fused operators: "x_scale", "x_zero_point", "r_scale", "r_zero_point",
/// "y_scale", "y_zero_point", "activation", "alpha", "beta", "y_type". For msc.Binary, x stands for
/// A and r for B. The node omits attributes that equal the defaults below, except "y_type".
struct FusedAttrs {
  QuantParams x;
  QuantParams r;
  QuantParams y;
  Activation activation;
  /// Element type of Y: f32, bf16, i8 or u8. Stored as its number in ONNX TensorProto.DataType,
  /// like `to` of Cast, because inference cannot derive the output type otherwise.
  DType y_type = DType::kF32;
  bool operator==(const FusedAttrs&) const = default;
};
/// Throws UserError, which names the node, if an attribute has a wrong type or an invalid value.
[[nodiscard]] FusedAttrs ReadFusedAttrs(const Node& node);
void WriteFusedAttrs(const FusedAttrs& attrs, AttrMap& map);

/// Applies the activation to one real number. Only PRelu uses `slope`.
[[nodiscard]] double Activate(const Activation& activation, double x, double slope);

/// Resolved window of a convolution or pool: one entry per spatial axis, with separate pads for
/// begin and end.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  std::int64_t group = 1;
};
/// Reads kernel_shape, strides, dilations, pads, auto_pad and group of a Conv or pool node.
/// `x_spatial` has the spatial dims of X, `w_kernel` the kernel dims of W (empty for pools).
/// Source: ONNX operator pages Conv-11, MaxPool-12, AveragePool-11. Throws UserError, which names
/// the node, if they do not fit together. pads_end excludes the extra padding of ceil_mode, which
/// pools add. A negative entry of `x_spatial` is an unknown size; under auto_pad SAME_* the pads of
/// that axis are then 0.
[[nodiscard]] Window ReadWindow(const Node& node, const Dims& x_spatial, const Dims& w_kernel);

/// Handling of a last window that exceeds the end: kFloor drops it, kCeil counts it (attribute
/// ceil_mode of pools).
enum class Rounding : std::uint8_t { kFloor, kCeil };
/// Returns the number of window positions along one axis of `size` entries; >= 0. Under kCeil, a
/// window that would start in the end padding does not count.
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
