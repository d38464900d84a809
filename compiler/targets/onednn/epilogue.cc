#include "compiler/targets/onednn/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "compiler/targets/onednn/elementwise.h"

namespace msc::onednn {
namespace {

// Bit d of such a mask asks for one number per entry of dim d; channels are dim 1.
constexpr int kPerChannel = 1 << 1;

// Returns whether the zero point is a code of i8 or u8 and the scale is positive and finite.
bool FitsInt32(const QuantParams& params) {
  return params.zero_point >= -128 && params.zero_point <= 255 && std::isfinite(params.scale) &&
         params.scale > 0.0F;
}

// Drops a Relu if the output is u8 with zero point 0, which clamps negative values anyway.
Activation WithoutCutOff(const Epilogue& epilogue, const Way& way) {
  const bool cuts = way.dst == Elem::u8 && epilogue.attrs.y.zero_point == 0;
  if (cuts && epilogue.attrs.activation.op == "Relu") return {};
  return epilogue.attrs.activation;
}

}  // namespace

std::optional<std::vector<float>> ConstantFloats(const Graph& graph, ValueId value) {
  const TensorPtr tensor = graph.constant(value);
  if (tensor == nullptr || tensor->dtype() != DType::kF32) return std::nullopt;
  const std::span<const float> values = tensor->Values<float>();
  return std::vector<float>(values.begin(), values.end());
}

std::optional<std::vector<std::int64_t>> ConstantInts(const Graph& graph, ValueId value) {
  const TensorPtr tensor = graph.constant(value);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::kI64) {
    const auto values = tensor->Values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() != DType::kI32) return std::nullopt;
  const auto values = tensor->Values<std::int32_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

std::optional<Epilogue> ReadEpilogue(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const auto x = DenseDescOf(graph, node.inputs[kFusedX]);
  const auto y = DenseDescOf(graph, node.outputs[0]);
  if (!x || !y) return std::nullopt;
  Epilogue epilogue{.x = ElemOf(*x), .y = ElemOf(*y), .residual = kNoValue, .slope = kNoValue};
  if (const ValueId bias = node.Input(kFusedBias); bias != kNoValue) {
    auto values = ConstantFloats(graph, bias);
    if (!values) return std::nullopt;
    epilogue.bias = std::move(*values);
  }
  // A plain node has a bias and followers only.
  if (node.domain != "msc") {
    epilogue.followers = FollowersOf(lowering, node.outputs[0], {});
    return epilogue;
  }

  epilogue.attrs = ReadFusedAttrs(node);
  if (!FitsInt32(epilogue.attrs.x) || !FitsInt32(epilogue.attrs.y) ||
      !FitsInt32(epilogue.attrs.r)) {
    return std::nullopt;
  }
  epilogue.residual = node.Input(kFusedResidual);
  if (epilogue.residual != kNoValue) {
    const auto r = DenseDescOf(graph, epilogue.residual);
    if (!r || graph.constant(epilogue.residual)) return std::nullopt;
    epilogue.r = ElemOf(*r);
  }
  if (const ValueId scale = node.Input(kFusedWeightScale); scale != kNoValue) {
    auto values = ConstantFloats(graph, scale);
    const auto bad = [](float s) { return !std::isnormal(s) || s < 0.0F; };
    if (!values || values->empty() || std::any_of(values->begin(), values->end(), bad)) {
      return std::nullopt;
    }
    epilogue.w_scale = std::move(*values);
  }
  // Weights must have scales (and be s8) exactly if the activations are integers.
  if (IsInt8(epilogue.x) == epilogue.w_scale.empty()) return std::nullopt;
  epilogue.slope = node.Input(kFusedSlope);
  if (epilogue.is_prelu() && !graph.constant(epilogue.slope)) return std::nullopt;
  if (!IsInt8(epilogue.x) && !epilogue.is_prelu()) {
    epilogue.followers =
        FollowersOf(lowering, node.outputs[0], FunctionsOf(epilogue.attrs.activation));
  }
  return epilogue;
}

namespace {

std::vector<Way> PlainWays(const Epilogue& epilogue) {
  std::vector<Way> ways;
  const bool residual = epilogue.has_residual();
  const bool activate = !epilogue.is_prelu();
  const bool has_activation = !epilogue.attrs.activation.op.empty();
  if (!residual) {
    if (activate) ways.push_back({.add = AddBy::kNone, .dst = epilogue.y});
    ways.push_back({.add = AddBy::kNone, .dst = Elem::f32, .sum = Elem::f32, .activate = activate});
    if (has_activation && activate) {
      ways.push_back({.add = AddBy::kNone, .dst = Elem::f32, .sum = Elem::f32, .activate = false});
    }
    return ways;
  }
  const Elem r = *epilogue.r;
  const bool same_size = r == epilogue.y || (IsInt8(r) && IsInt8(epilogue.y));
  if (activate) {
    if (same_size) ways.push_back({.add = AddBy::kSum, .dst = epilogue.y, .sum = r});
    // Float sums have no output scales to convert them to the unit of an integer residual.
    if (IsInt8(epilogue.x) || !IsInt8(r))
      ways.push_back({.add = AddBy::kBinary, .dst = epilogue.y});
    ways.push_back({.add = AddBy::kSum, .dst = Elem::f32, .sum = Elem::f32});
  }
  if (has_activation) {
    ways.push_back({.add = AddBy::kSum, .dst = Elem::f32, .sum = Elem::f32, .activate = false});
  }
  ways.push_back({.add = AddBy::kAfter, .dst = Elem::f32, .sum = Elem::f32, .activate = false});
  return ways;
}

}  // namespace

std::vector<Way> WaysOf(const Epilogue& epilogue) {
  const std::vector<Way> plain = PlainWays(epilogue);
  if (epilogue.followers.nodes.empty()) return plain;
  std::vector<Way> ways;
  for (Way way : plain) {
    if (way.dst != Elem::f32 || way.add == AddBy::kAfter || !way.activate) continue;
    way.follow = true;
    ways.push_back(way);
  }
  ways.insert(ways.end(), plain.begin(), plain.end());
  return ways;
}

bool CommutesWithScale(const Activation& activation) {
  return activation.op.empty() || activation.op == "Relu" || activation.op == "LeakyRelu" ||
         activation.op == "Clip";
}

bool AppendActivation(const Activation& activation, float scale, dnnl::post_ops& post_ops) {
  if (activation.op.empty()) return true;
  std::vector<Function> functions = FunctionsOf(activation);
  if (functions.empty()) return false;
  // A function that commutes with the scale is applied to scaled values, with scaled bounds. Any
  // other takes real numbers, and its result is scaled.
  float last = scale;
  if (CommutesWithScale(activation)) {
    last = 1.0F;
    if (activation.op == "Clip") {
      functions[0].alpha *= scale;
      functions[0].beta *= scale;
    }
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Function& f = functions[i];
    post_ops.append_eltwise(i + 1 == functions.size() ? last : 1.0F, f.kind, f.alpha, f.beta);
  }
  return true;
}

namespace {

/// Returns the real value of one unit of the integer sums, one for all channels or one per channel.
/// The library adds the bias in these units. If the weights of a channel are almost zero, its bias
/// would be infinitely many units, and infinity times zero is NaN. The units are therefore large
/// enough that a bias is at most 1e30 of them: the sums, at most 1e10 units, are negligible beside
/// such a bias, as they should be.
std::vector<float> StepsOf(const Epilogue& epilogue) {
  constexpr float kMaxSteps = 1e30F;
  std::vector<float> steps = epilogue.w_scale;
  for (float& step : steps) {
    // A product of scales that underflows must not become a divisor of 0 for the bias.
    step = std::max(step * epilogue.attrs.x.scale, std::numeric_limits<float>::min());
  }
  for (std::size_t c = 0; c < epilogue.bias.size(); ++c) {
    float& step = steps[steps.size() == 1 ? 0 : c];
    step = std::max(step, std::abs(epilogue.bias[c]) / kMaxSteps);
  }
  return steps;
}

}  // namespace

dnnl::primitive_attr AttrOf(const Epilogue& epilogue, const Way& way, const Desc& residual) {
  dnnl::primitive_attr attr = Lowering::NewAttr();
  const Activation activation = way.activate ? WithoutCutOff(epilogue, way) : Activation{};
  const QuantParams& r = epilogue.attrs.r;
  const float unit = IsInt8(way.dst) ? epilogue.attrs.y.scale : 1.0F;
  // Unit in which the primitive computes before the activation; 1 means real numbers.
  float inner = CommutesWithScale(activation) ? unit : 1.0F;
  const bool binary = way.add == AddBy::kBinary;
  // A binary addition takes the codes of the residual as they are, so the sums are computed in its
  // unit. The linear function below subtracts its zero point and converts to the unit of the
  // result.
  if (binary) inner = IsInt8(*epilogue.r) ? r.scale : 1.0F;

  if (IsInt8(epilogue.x)) {
    std::vector<float> scales = StepsOf(epilogue);
    for (float& scale : scales) scale /= inner;
    attr.set_output_scales(scales.size() == 1 ? 0 : kPerChannel, scales);
    if (epilogue.attrs.x.zero_point != 0) {
      attr.set_zero_points(DNNL_ARG_SRC, 0, {static_cast<int>(epilogue.attrs.x.zero_point)});
    }
  }
  if (IsInt8(way.dst) && epilogue.attrs.y.zero_point != 0) {
    attr.set_zero_points(DNNL_ARG_DST, 0, {static_cast<int>(epilogue.attrs.y.zero_point)});
  }
  dnnl::post_ops post_ops;
  if (way.add == AddBy::kSum) {
    // Residuals join the sums in the unit `inner`.
    const bool integer = IsInt8(way.sum);
    post_ops.append_sum(integer ? r.scale / inner : 1.0F / inner,
                        integer ? static_cast<std::int32_t>(r.zero_point) : 0, way.sum);
  }
  if (binary) {
    post_ops.append_binary(dnnl::algorithm::binary_add, residual);
    const float wanted = CommutesWithScale(activation) ? unit : 1.0F;
    const float zero = IsInt8(*epilogue.r) ? static_cast<float>(r.zero_point) : 0.0F;
    if (inner != wanted || zero != 0.0F) {
      post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_linear, inner / wanted,
                              -zero * inner / wanted);
    }
  }
  (void)AppendActivation(activation, 1.0F / unit, post_ops);
  if (way.follow) {
    for (const Function& f : epilogue.followers.functions) {
      post_ops.append_eltwise(1.0F, f.kind, f.alpha, f.beta);
    }
  }
  attr.set_post_ops(post_ops);
  return attr;
}

std::vector<float> BiasOf(const Epilogue& epilogue, std::size_t channels) {
  std::vector<float> bias = epilogue.bias;
  bias.resize(channels, 0.0F);
  if (!IsInt8(epilogue.x)) return bias;
  // The library adds the bias to the integer sums, before it scales them.
  const std::vector<float> steps = StepsOf(epilogue);
  for (std::size_t c = 0; c < channels; ++c) bias[c] /= steps[steps.size() == 1 ? 0 : c];
  return bias;
}

dnnl::primitive_attr ScalingAttr(float scale, std::int64_t from_zero, std::int64_t to_zero) {
  dnnl::primitive_attr attr = Lowering::NewAttr();
  if (scale != 1.0F) attr.set_output_scales(0, {scale});
  if (from_zero != 0) attr.set_zero_points(DNNL_ARG_SRC, 0, {static_cast<int>(from_zero)});
  if (to_zero != 0) attr.set_zero_points(DNNL_ARG_DST, 0, {static_cast<int>(to_zero)});
  return attr;
}

}  // namespace msc::onednn
