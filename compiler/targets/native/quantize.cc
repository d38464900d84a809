#include "compiler/targets/native/quantize.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "compiler/kernel/integer.h"

namespace msc::native {
namespace {

using kernel::Binary;
using kernel::Float;
using kernel::Op;

bool Takes(DType dtype, const QuantParams& params) {
  if (!IsQuantized(dtype)) return dtype == DType::kF32 || dtype == DType::kBF16;
  const kernel::IntegerRange range = kernel::RangeOf(dtype);
  return params.zero_point >= range.least && params.zero_point <= range.most;
}

/// Returns min(max(x, low), high), merged with bounds that x already has.
Expr Clamped(Expr x, double low, double high) {
  const auto bound = [](const Expr& e, Op op) {
    return e->op == op && e->args[0]->op == Op::kFloat;
  };
  // The bounds of a Relu or Clip before the rounding merge with the range of the codes, which saves
  // operations. Disjoint bounds stay apart: the outer ones decide then.
  const bool above = bound(x, Op::kMin);
  const Expr inner = above ? x->args[1] : x;
  const bool below = bound(inner, Op::kMax);
  const double least = below ? std::max(low, inner->args[0]->real) : low;
  const double most = above ? std::min(high, x->args[0]->real) : high;
  if (least <= most) {
    x = below ? inner->args[1] : inner;
    low = least;
    high = most;
  }
  const int lanes = x->type.lanes;
  return Binary(Op::kMin, Binary(Op::kMax, std::move(x), Float(low, lanes)), Float(high, lanes));
}

}  // namespace

bool TakesFused(const Graph& graph, const Node& node) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const auto type = [&](ValueId value) { return graph.type(value).dtype; };
  const DType x = type(node.inputs[kFusedX]);
  const DType y = type(node.outputs[0]);
  if (!Takes(x, attrs.x) || !Takes(y, attrs.y)) return false;
  if (node.op == "Pool") return true;
  if (node.op == "Binary") return Takes(type(node.inputs[1]), attrs.r);
  const ValueId residual = node.Input(kFusedResidual);
  if (residual != kNoValue && !Takes(type(residual), attrs.r)) return false;
  if (type(node.inputs[kFusedW]) != (IsQuantized(x) ? DType::kI8 : x)) return false;
  const bool integers = IsQuantized(x) || IsQuantized(y);
  for (const std::size_t index : {kFusedBias, kFusedWeightScale, kFusedSlope}) {
    const ValueId value = node.Input(index);
    if (value == kNoValue) continue;
    if (type(value) != DType::kF32 || (integers && !graph.constant(value))) return false;
  }
  return IsQuantized(x) == (node.Input(kFusedWeightScale) != kNoValue);
}

std::vector<std::int32_t> WholeBias(const Graph& graph, const Node& node) {
  const ValueId bias = node.Input(kFusedBias);
  const ValueId scale = node.Input(kFusedWeightScale);
  if (bias == kNoValue || scale == kNoValue) return {};
  const std::span<const float> scales = graph.constant(scale)->Values<float>();
  const std::span<const float> values = graph.constant(bias)->Values<float>();
  const auto x_scale = static_cast<double>(ReadFusedAttrs(node).x.scale);
  const auto channels = static_cast<std::size_t>(graph.constant(node.inputs[kFusedW])->dims()[0]);
  std::vector<std::int32_t> whole;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto w_scale = static_cast<double>(scales[scales.size() == 1 ? 0 : c]);
    const auto value = static_cast<double>(values[values.size() == 1 ? 0 : c]);
    const double steps = value / (x_scale * w_scale);
    const double near = std::nearbyint(steps);
    // Scale and bias were each rounded to f32: 2^-22 is more than both relative errors.
    constexpr double kRounding = 1.0 / static_cast<double>(kMaxWholeBias);
    const bool is_whole = std::abs(steps - near) <= kRounding * std::max(1.0, std::abs(near));
    if (!is_whole || std::abs(near) > static_cast<double>(kMaxWholeBias)) return {};
    whole.push_back(static_cast<std::int32_t>(near));
  }
  return whole;
}

bool CommutesWithScale(const Activation& activation) {
  const std::string& op = activation.op;
  return op.empty() || op == "Relu" || op == "LeakyRelu" || op == "PRelu" || op == "Clip";
}

Activation InUnit(Activation activation, double unit) {
  if (activation.op == "Clip") {
    activation.alpha = static_cast<float>(static_cast<double>(activation.alpha) / unit);
    activation.beta = static_cast<float>(static_cast<double>(activation.beta) / unit);
  }
  return activation;
}

Expr Dequantized(const Expr& codes, const QuantParams& params, double unit) {
  const int lanes = codes->type.lanes;
  Expr value = kernel::Cast(codes, {DType::kF32, lanes});
  if (!IsQuantized(codes->type.dtype)) return std::move(value) * Float(1 / unit, lanes);
  if (params.zero_point != 0) {
    value = std::move(value) - Float(static_cast<double>(params.zero_point), lanes);
  }
  return std::move(value) * Float(static_cast<double>(params.scale) / unit, lanes);
}

Expr Quantized(Expr value, const QuantParams& params, double unit, DType dtype) {
  const double scale = IsQuantized(dtype) ? static_cast<double>(params.scale) : 1;
  const int lanes = value->type.lanes;
  if (unit != scale) value = std::move(value) * Float(unit / scale, lanes);
  if (IsQuantized(dtype)) return Rounded(std::move(value), params.zero_point, dtype);
  return kernel::Cast(std::move(value), {dtype, lanes});
}

Expr Rounded(Expr value, std::int64_t zero_point, DType dtype) {
  // Clamps first: after that, adding the zero point modulo 256 stays within the type.
  const kernel::IntegerRange range = kernel::RangeOf(dtype);
  const int lanes = value->type.lanes;
  const Expr bounded = Clamped(std::move(value), static_cast<double>(range.least - zero_point),
                               static_cast<double>(range.most - zero_point));
  // The cast rounds half to even. The bounds are whole numbers, so it stays within them.
  const Expr whole = kernel::Cast(bounded, {DType::kI32, lanes});
  return kernel::Cast(whole, {dtype, lanes}) + kernel::Int(zero_point, {dtype, lanes});
}

}  // namespace msc::native
