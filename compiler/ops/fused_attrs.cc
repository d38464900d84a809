#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/ops/fused.h"
#include "compiler/ops/infer.h"

namespace msc {
namespace {

constexpr std::array<std::string_view, 12> kActivations = {
    "",          "Relu",  "Clip",      "Sigmoid", "Tanh", "HardSigmoid",
    "HardSwish", "Swish", "LeakyRelu", "PRelu",   "Gelu", "GeluTanh"};

QuantParams ReadParams(const Node& node, const std::string& prefix) {
  const QuantParams params{.scale = AttrOr(node, prefix + "_scale", 1.0F),
                           .zero_point = AttrOr(node, prefix + "_zero_point", std::int64_t{0})};
  if (!(params.scale > 0.0F) || std::isinf(params.scale)) {
    RejectNode(node, "attribute '" + prefix + "_scale' must be positive and finite");
  }
  if (params.zero_point < -128 || params.zero_point > 255) {
    RejectNode(node, "attribute '" + prefix + "_zero_point' cannot be " +
                         std::to_string(params.zero_point));
  }
  return params;
}

void WriteParams(const QuantParams& params, const std::string& prefix, AttrMap& map) {
  const QuantParams otherwise;
  if (params.scale != otherwise.scale) map[prefix + "_scale"] = params.scale;
  if (params.zero_point != otherwise.zero_point) map[prefix + "_zero_point"] = params.zero_point;
}

double Clamp01(double x) {
  return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

// Takes exp only of a non-positive number, which cannot overflow.
double Sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

}  // namespace

FusedAttrs ReadFusedAttrs(const Node& node) {
  FusedAttrs attrs{.x = ReadParams(node, "x"),
                   .r = ReadParams(node, "r"),
                   .y = ReadParams(node, "y"),
                   .activation = {.op = AttrOr(node, "activation", std::string()),
                                  .alpha = AttrOr(node, "alpha", 0.0F),
                                  .beta = AttrOr(node, "beta", 0.0F)}};
  if (std::find(kActivations.begin(), kActivations.end(), attrs.activation.op) ==
      kActivations.end()) {
    RejectNode(node, "attribute 'activation' cannot be '" + attrs.activation.op + "'");
  }
  const std::int64_t code = AttrOr(node, "y_type", static_cast<std::int64_t>(DType::kF32));
  constexpr std::array kTypes = {DType::kF32, DType::kBF16, DType::kI8, DType::kU8};
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](DType dtype) {
    return static_cast<std::int64_t>(dtype) == code;
  });
  if (type == kTypes.end()) {
    RejectNode(node, "attribute 'y_type' cannot be " + std::to_string(code));
  }
  attrs.y_type = *type;
  return attrs;
}

void WriteFusedAttrs(const FusedAttrs& attrs, AttrMap& map) {
  WriteParams(attrs.x, "x", map);
  WriteParams(attrs.r, "r", map);
  WriteParams(attrs.y, "y", map);
  if (!attrs.activation.op.empty()) map["activation"] = attrs.activation.op;
  if (attrs.activation.alpha != 0.0F) map["alpha"] = attrs.activation.alpha;
  if (attrs.activation.beta != 0.0F) map["beta"] = attrs.activation.beta;
  map["y_type"] = static_cast<std::int64_t>(attrs.y_type);
}

double Activate(const Activation& activation, double x, double slope) {
  const std::string_view op = activation.op;
  const double alpha = activation.alpha;
  const double beta = activation.beta;
  if (op.empty()) return x;
  if (op == "Relu") return x < 0.0 ? 0.0 : x;
  if (op == "Clip") {
    const double above = x < alpha ? alpha : x;
    return above > beta ? beta : above;
  }
  if (op == "Sigmoid") return Sigmoid(x);
  if (op == "Tanh") return std::tanh(x);
  if (op == "HardSigmoid") return Clamp01(alpha * x + beta);
  if (op == "HardSwish") return x * Clamp01(x / 6.0 + 0.5);
  if (op == "Swish") return x * Sigmoid(x);
  if (op == "LeakyRelu") return x < 0.0 ? alpha * x : x;
  if (op == "Gelu") return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
  if (op == "GeluTanh") {
    const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1.0 + std::tanh(inner));
  }
  Check(op == "PRelu", "ReadFusedAttrs has checked the activation");
  return x < 0.0 ? slope * x : x;
}

}  // namespace msc
