#include "compiler/import/onnx/lift_microsoft.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift_composed.h"
#include "compiler/import/onnx/steps.h"

// Layers that ONNX Runtime fuses with what follows them, and its activations. Source: schemas and
// kernels of ONNX Runtime 1.31, domain com.microsoft.

namespace msc::detail {

void RejectRest(const Lift& lift, std::size_t inputs, std::size_t outputs) {
  if (!lift.node.attrs.empty()) {
    lift.Reject("attribute '" + lift.node.attrs.begin()->first + "' is not supported");
  }
  for (std::size_t i = inputs; i < lift.node.inputs.size(); ++i) {
    if (lift.HasInput(i)) lift.Reject("input " + std::to_string(i) + " is not supported");
  }
  for (std::size_t i = outputs; i < lift.node.outputs.size(); ++i) {
    if (lift.IsRead(i)) lift.Reject("output " + std::to_string(i) + " is not supported");
  }
}

namespace {

using Ints = std::vector<std::int64_t>;

/// An activation and its parameters, in the order in which FusedConv lists them.
struct Activation {
  std::string_view op;
  std::array<std::string_view, 2> params = {};  ///< attributes; empty where there is none
};

constexpr std::array<Activation, 11> kActivations = {{
    {"Clip", {"min", "max"}},
    {"Elu", {"alpha"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"LeakyRelu", {"alpha"}},
    {"Relu"},
    {"Selu", {"alpha", "gamma"}},
    {"Sigmoid"},
    {"Softplus"},
    {"Softsign"},
    {"Tanh"},
    {"ThresholdedRelu", {"alpha"}},
}};

const Activation& FindActivation(const Lift& lift, const std::string& name) {
  const auto* const found = std::find_if(kActivations.begin(), kActivations.end(),
                                         [&](const Activation& one) { return one.op == name; });
  if (found == kActivations.end()) lift.Reject("activation '" + name + "' is not supported");
  return *found;
}

/// Makes the node the activation of `x`, a value of `dtype`; without one, `x` itself.
void EndActivation(Steps& steps, const std::string& name, const AttrMap& params,
                   const std::string& x, DType dtype) {
  if (name.empty()) {
    steps.End("Identity", {x});
  } else if (name != "Clip") {
    steps.End(name, {x}, params);
  } else {
    std::vector<std::string> inputs = {x};
    for (const char* bound : {"min", "max"}) {
      const auto value = params.find(bound);
      inputs.push_back(value == params.end()
                           ? std::string()
                           : steps.Number(std::get<float>(value->second), dtype, bound));
    }
    while (inputs.back().empty()) inputs.pop_back();
    steps.End("Clip", std::move(inputs));
  }
}

/// Expands FusedConv: a convolution of X by W with bias B, plus Z, and an activation.
void LiftFusedConv(Lift& lift) {
  const std::string name = lift.Take("activation", std::string());
  const auto values = lift.Take("activation_params", std::vector<float>{});
  AttrMap params;
  if (!name.empty()) {
    const Activation& activation = FindActivation(lift, name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i >= activation.params.size() || activation.params[i].empty()) {
        lift.Reject("activation " + name + " does not have so many parameters");
      }
      params.emplace(activation.params[i], values[i]);
    }
  }
  AttrMap attrs = std::exchange(lift.node.attrs, {});  // those of Conv, which checks them
  RejectRest(lift, 4);
  const DType dtype = lift.InputType(0).dtype;
  std::vector<std::string> inputs = {lift.Input(0), lift.Input(1)};
  if (lift.HasInput(2)) inputs.push_back(lift.Input(2));
  const bool adds = lift.HasInput(3);
  Steps steps(lift);
  if (name.empty() && !adds) {
    steps.End("Conv", std::move(inputs), std::move(attrs));
    return;
  }
  std::string sum = steps.Add("Conv", std::move(inputs), "conv", std::move(attrs));
  if (adds) sum = steps.Add("Add", {sum, lift.Input(3)}, "sum");
  EndActivation(steps, name, params, sum, dtype);
}

/// Expands FusedGemm: a Gemm and an activation.
void LiftFusedGemm(Lift& lift) {
  const std::string name = lift.Take("activation", std::string());
  AttrMap params;
  if (!name.empty()) {
    for (const std::string_view param : FindActivation(lift, name).params) {
      const std::string attr = "activation_" + std::string(param);
      if (lift.node.attrs.contains(attr)) params.emplace(param, lift.Take(attr, 0.0F));
    }
  }
  // The optimizer sets all three whether the activation has them or not.
  for (const char* unused : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    (void)lift.Take(unused, 0.0F);
  }
  AttrMap attrs = std::exchange(lift.node.attrs, {});  // those of Gemm, which checks them
  RejectRest(lift, 3);
  const DType dtype = lift.InputType(0).dtype;
  Steps steps(lift);
  const std::string sum = steps.Add("Gemm", lift.node.inputs, "gemm", std::move(attrs));
  EndActivation(steps, name, params, sum, dtype);
}

/// Returns an operand of FusedMatMul in the order of axes of MatMul.
std::string Turned(Lift& lift, Steps& steps, std::size_t index, const std::string& letter) {
  const bool matrix = lift.Take("trans" + letter, std::int64_t{0}) != 0;
  const bool batch = lift.Take("transBatch" + letter, std::int64_t{0}) != 0;
  const std::string& operand = lift.Input(index);
  if (!matrix && !batch) return operand;
  const ValueType type = lift.InputType(index);
  if (!type.shape || type.shape->size() < 2) {
    lift.Reject("needs operands with a known number of axes, two or more, to transpose them");
  }
  Ints perm(type.shape->size());
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
  // The axis in front of the batch axes goes behind them, to be that of the rows.
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return steps.Add("Transpose", {operand}, letter + "_turned", {{"perm", perm}});
}

/// Expands FusedMatMul: alpha * A * B, with transposed operands.
void LiftFusedMatMul(Lift& lift) {
  const float alpha = lift.Take("alpha", 1.0F);
  const DType dtype = lift.InputType(0).dtype;
  Steps steps(lift);
  const std::string a = Turned(lift, steps, 0, "A");
  const std::string b = Turned(lift, steps, 1, "B");
  RejectRest(lift, 2);
  if (alpha == 1.0F) {
    steps.End("MatMul", {a, b});
    return;
  }
  const std::string product = steps.Add("MatMul", {a, b}, "product");
  steps.End("Mul", {product, steps.Number(alpha, dtype, "alpha")});
}

/// Expands Gelu and BiasGelu, which are exact, and FastGelu, by tanh. Input 1 is a bias.
void LiftGelu(Lift& lift) {
  const GeluForm form = lift.node.op == "FastGelu" ? GeluForm::kTanh : GeluForm::kExact;
  RejectRest(lift, lift.node.op == "Gelu" ? 1 : 2);
  const DType dtype = lift.InputType(0).dtype;
  Steps steps(lift);
  std::string x = lift.Input(0);
  if (lift.HasInput(1)) x = steps.Add("Add", {x, lift.Input(1)}, "biased");
  const auto factors = GeluFactors(steps, x, dtype, form);
  steps.End("Mul", {factors.begin(), factors.end()});
}

/// Expands BiasSplitGelu: of X plus bias, the first half of the last axis times GELU of the second.
void LiftBiasSplitGelu(Lift& lift) {
  RejectRest(lift, 2);
  const DType dtype = lift.InputType(0).dtype;
  Steps steps(lift);
  const std::string sum = steps.Add("Add", {lift.Input(0), lift.Input(1)}, "biased");
  const auto halves = steps.AddSeveral("Split", {sum}, "half", 2, {{"axis", std::int64_t{-1}}});
  const auto factors = GeluFactors(steps, halves[1], dtype, GeluForm::kExact);
  const std::string gelu = steps.Add("Mul", {factors.begin(), factors.end()}, "gelu");
  steps.End("Mul", {halves[0], gelu});
}

void LiftQuickGelu(Lift& lift) {
  constexpr float kAlpha = 1.702F;
  const float alpha = lift.Take("alpha", kAlpha);
  RejectRest(lift, 1);
  Steps steps(lift);
  EndSwish(steps, lift.Input(0), lift.InputType(0).dtype, alpha);
}

/// Expands BiasAdd: X + bias + skip.
void LiftBiasAdd(Lift& lift) {
  RejectRest(lift, 3);
  Steps steps(lift);
  const std::string sum = steps.Add("Add", {lift.Input(0), lift.Input(1)}, "biased");
  steps.End("Add", {sum, lift.Input(2)});
}

/// Keeps a node that has the same inputs, attributes and meaning as that of ai.onnx.
void KeepNode(Lift& /*lift*/) {}

constexpr std::array<LiftRule, 14> kRules = {{
    {"BiasAdd", kNoEnd, LiftBiasAdd, 1, kMicrosoftDomain},
    {"BiasGelu", kNoEnd, LiftGelu, 1, kMicrosoftDomain},
    {"BiasSplitGelu", kNoEnd, LiftBiasSplitGelu, 1, kMicrosoftDomain},
    {"DequantizeLinear", kNoEnd, KeepNode, 1, kMicrosoftDomain},
    {"FastGelu", kNoEnd, LiftGelu, 1, kMicrosoftDomain},
    {"FusedConv", kNoEnd, LiftFusedConv, 1, kMicrosoftDomain},
    {"FusedGemm", kNoEnd, LiftFusedGemm, 1, kMicrosoftDomain},
    {"FusedMatMul", kNoEnd, LiftFusedMatMul, 1, kMicrosoftDomain},
    {"Gelu", kNoEnd, LiftGelu, 1, kMicrosoftDomain},
    {"Pad", kNoEnd, KeepNode, 1, kMicrosoftDomain},
    {"QuantizeLinear", kNoEnd, KeepNode, 1, kMicrosoftDomain},
    {"QuickGelu", kNoEnd, LiftQuickGelu, 1, kMicrosoftDomain},
    {"TransposeMatMul", kNoEnd, LiftFusedMatMul, 1, kMicrosoftDomain},
    {"Trilu", kNoEnd, KeepNode, 1, kMicrosoftDomain},
}};

}  // namespace

std::span<const LiftRule> MicrosoftLifts() {
  return kRules;
}

}  // namespace msc::detail
