#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift_microsoft.h"
#include "compiler/import/onnx/steps.h"

// ONNX Runtime's integer operators, as DequantizeLinear, an operator of floats, and QuantizeLinear:
// passes look for integer layers in this form. Source: schemas of ONNX Runtime 1.31, domain
// com.microsoft.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

/// Inputs of a node that hold a quantized tensor, its scale and its zero point, which may be
/// absent.
struct Quantized {
  std::size_t x = 0;
  std::size_t scale = 0;
  std::size_t zero = 0;
  std::int64_t axis = -1;  ///< of scales, if there are several
};

/// Returns the inputs of a tensor that are next to each other.
Quantized From(std::size_t first) {
  return {.x = first, .scale = first + 1, .zero = first + 2};
}

/// Returns the number of elements of an input; -1 if it is open.
std::int64_t CountOf(const Lift& lift, std::size_t input) {
  const ValueType type = lift.InputType(input);
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  return dims ? ElementCount(*dims) : -1;
}

/// Returns the input `one`, repeated for each element of the input `list` if that has more.
std::string AsMany(Lift& lift, Steps& steps, std::size_t one, std::size_t list) {
  if (CountOf(lift, one) != 1 || CountOf(lift, list) <= 1) return lift.Input(one);
  const std::string shape = steps.Add("Shape", {lift.Input(list)}, "shape");
  return steps.Add("Expand", {lift.Input(one), shape}, "repeated");
}

/// Adds the floats of a quantized input.
std::string Floats(Lift& lift, Steps& steps, const Quantized& of, const char* what) {
  std::vector<std::string> inputs = {lift.Input(of.x)};
  if (lift.HasInput(of.zero)) {
    inputs.push_back(AsMany(lift, steps, of.scale, of.zero));
    inputs.push_back(AsMany(lift, steps, of.zero, of.scale));
  } else {
    inputs.push_back(lift.Input(of.scale));
  }
  return steps.Add("DequantizeLinear", std::move(inputs), what, {{"axis", of.axis}});
}

/// Makes the node the integers of `y`. Without a zero point they have the type of input `like`.
void EndQuantized(Lift& lift, Steps& steps, const std::string& y, std::size_t scale,
                  std::size_t like) {
  const std::size_t zero = scale + 1;
  std::vector<std::string> inputs = {y, lift.Input(scale)};
  const DType dtype = lift.InputType(like).dtype;
  if (lift.HasInput(zero)) {
    inputs.push_back(lift.Input(zero));
  } else if (dtype == DType::kI8) {
    const std::array<std::int8_t, 1> none = {0};
    inputs.push_back(steps.Constant(Tensor::From<std::int8_t>(DType::kI8, {}, none), "zero_point"));
  } else if (dtype != DType::kU8) {
    lift.Reject("needs a zero point of its output, or an input of a known type");
  }
  steps.End("QuantizeLinear", std::move(inputs));
}

/// Converts QLinearAdd and QLinearMul.
void LiftElementwise(Lift& lift) {
  RejectRest(lift, 8);
  const std::string op = lift.node.op == "QLinearAdd" ? "Add" : "Mul";
  Steps steps(lift);
  const std::string a = Floats(lift, steps, From(0), "a");
  const std::string b = Floats(lift, steps, From(3), "b");
  EndQuantized(lift, steps, steps.Add(op, {a, b}, "floats"), 6, 0);
}

void LiftConcat(Lift& lift) {
  const std::int64_t axis = lift.Take("axis", std::int64_t{0});
  const std::size_t inputs = lift.node.inputs.size();
  RejectRest(lift, inputs);
  Steps steps(lift);
  std::vector<std::string> parts;
  for (std::size_t i = 2; i < inputs; i += 3) {
    parts.push_back(Floats(lift, steps, From(i), "part"));
  }
  EndQuantized(lift, steps, steps.Add("Concat", parts, "floats", {{"axis", axis}}), 0, 2);
}

/// Converts QLinearWhere: x where the condition holds, y elsewhere.
void LiftWhere(Lift& lift) {
  RejectRest(lift, 9);
  Steps steps(lift);
  const std::string x = Floats(lift, steps, From(1), "x");
  const std::string y = Floats(lift, steps, From(4), "y");
  EndQuantized(lift, steps, steps.Add("Where", {lift.Input(0), x, y}, "floats"), 7, 1);
}

/// Converts QLinearSigmoid and QLinearLeakyRelu.
void LiftActivation(Lift& lift) {
  AttrMap attrs;
  std::string op = "Sigmoid";
  if (lift.node.op == "QLinearLeakyRelu") {
    op = "LeakyRelu";
    constexpr float kAlpha = 0.01F;
    attrs["alpha"] = lift.Take("alpha", kAlpha);
  }
  RejectRest(lift, 5);
  Steps steps(lift);
  const std::string x = Floats(lift, steps, From(0), "x");
  EndQuantized(lift, steps, steps.Add(op, {x}, "floats", attrs), 3, 0);
}

/// Returns the number of axes of the input; rejects a node where it is unknown or below `least`.
std::int64_t RankOf(const Lift& lift, std::int64_t least) {
  const ValueType type = lift.InputType(0);
  const auto rank = type.shape ? static_cast<std::int64_t>(type.shape->size()) : 0;
  if (rank < least) {
    lift.Reject("needs an input with a known number of axes, " + std::to_string(least) +
                " or more");
  }
  return rank;
}

/// Adds Softmax over all axes from `axis` on, as sets before 13 define it.
std::string FlatSoftmax(Steps& steps, const std::string& x, std::int64_t axis) {
  const std::string shape = steps.Add("Shape", {x}, "shape");
  const std::string flat = steps.Add("Flatten", {x}, "flat", {{"axis", axis}});
  const std::string shares = steps.Add("Softmax", {flat}, "shares", {{"axis", std::int64_t{-1}}});
  return steps.Add("Reshape", {shares, shape}, "floats");
}

void LiftSoftmax(Lift& lift) {
  constexpr std::int64_t kOverOneAxis = 13;
  const std::int64_t set = lift.Take("opset", kOverOneAxis);
  const std::int64_t axis = lift.Take("axis", std::int64_t{-1});
  RejectRest(lift, 5);
  Steps steps(lift);
  const std::string x = Floats(lift, steps, From(0), "x");
  const std::string y = set < kOverOneAxis ? FlatSoftmax(steps, x, axis)
                                           : steps.Add("Softmax", {x}, "floats", {{"axis", axis}});
  EndQuantized(lift, steps, y, 3, 0);
}

/// Adds `x` with its last axis, the channels, in second place, or back.
std::string ChannelsFirst(Steps& steps, const std::string& x, std::int64_t rank) {
  Ints perm = {0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return steps.Add("Transpose", {x}, "channels_first", {{"perm", perm}});
}
AttrMap ChannelsLast(std::int64_t rank) {
  Ints perm = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return {{"perm", perm}};
}

/// Converts QLinearAveragePool and QLinearGlobalAveragePool.
void LiftAveragePool(Lift& lift) {
  const bool last = lift.Take("channels_last", std::int64_t{0}) != 0;
  const std::string op = lift.node.op == "QLinearAveragePool" ? "AveragePool" : "GlobalAveragePool";
  AttrMap attrs = std::exchange(lift.node.attrs, {});  // those of `op`, which checks them
  RejectRest(lift, 5);
  const std::int64_t rank = last ? RankOf(lift, 3) : 0;
  Steps steps(lift);
  std::string x = Floats(lift, steps, From(0), "x");
  if (last) x = ChannelsFirst(steps, x, rank);
  x = steps.Add(op, {x}, "floats", std::move(attrs));
  if (last) x = steps.Add("Transpose", {x}, "channels_last", ChannelsLast(rank));
  EndQuantized(lift, steps, x, 3, 0);
}

/// Converts NhwcMaxPool, and QLinearConv of com.microsoft, where their channels are the last axis.
void LiftChannelsLast(Lift& lift) {
  const bool pool = lift.node.op == "NhwcMaxPool";
  const bool last = lift.Take("channels_last", std::int64_t{0}) != 0 || pool;
  if (!last) return;  // as in ai.onnx
  AttrMap attrs = std::exchange(lift.node.attrs, {});
  RejectRest(lift, pool ? 1 : 9);
  const std::int64_t rank = RankOf(lift, 3);
  Steps steps(lift);
  std::vector<std::string> inputs = lift.node.inputs;
  inputs.front() = ChannelsFirst(steps, lift.Input(0), rank);
  const std::string y =
      steps.Add(pool ? "MaxPool" : "QLinearConv", std::move(inputs), "turned", std::move(attrs));
  steps.End("Transpose", {y}, ChannelsLast(rank));
}

/// Makes the node `product`, plus the bias of input `bias` if it is there.
void EndBiased(Lift& lift, Steps& steps, std::vector<std::string> factors, std::size_t bias) {
  if (!lift.HasInput(bias)) {
    steps.End("MatMul", std::move(factors));
    return;
  }
  const std::string product = steps.Add("MatMul", std::move(factors), "product");
  steps.End("Add", {product, lift.Input(bias)});
}

/// Converts MatMulIntegerToFloat: the product of two quantized matrices, in floats.
void LiftMatMulIntegerToFloat(Lift& lift) {
  RejectRest(lift, 7);
  Steps steps(lift);
  const std::string a = Floats(lift, steps, {.x = 0, .scale = 2, .zero = 4}, "a");
  const std::string b = Floats(lift, steps, {.x = 1, .scale = 3, .zero = 5}, "b");
  EndBiased(lift, steps, {a, b}, 6);
}

/// Converts DynamicQuantizeMatMul: quantizes A by its range in each run.
void LiftDynamicQuantizeMatMul(Lift& lift) {
  RejectRest(lift, 5);
  Steps steps(lift);
  const auto parts = steps.AddSeveral("DynamicQuantizeLinear", {lift.Input(0)}, "a_quantized", 3);
  const std::string a = steps.Add("DequantizeLinear", parts, "a");
  const std::string b = Floats(lift, steps, From(1), "b");
  EndBiased(lift, steps, {a, b}, 4);
}

/// Adds C of a QGemm, whose scale is that of the sums.
std::string GemmBias(Lift& lift, Steps& steps, float alpha) {
  std::string scale = steps.Add("Mul", {lift.Input(1), AsMany(lift, steps, 4, 5)}, "scale_of_sums");
  if (alpha != 1.0F) {
    scale = steps.Add("Mul", {scale, steps.Number(alpha, DType::kF32, "alpha")}, "scaled");
  }
  return steps.Add("DequantizeLinear", {lift.Input(6), scale}, "c", {{"axis", std::int64_t{-1}}});
}

/// Converts QGemm, whose output is quantized if it has a scale.
void LiftGemm(Lift& lift) {
  const float alpha = lift.Take("alpha", 1.0F);
  const std::int64_t turns_a = lift.Take("transA", std::int64_t{0});
  const std::int64_t turns_b = lift.Take("transB", std::int64_t{0});
  RejectRest(lift, 9);
  Steps steps(lift);
  const std::string a = Floats(lift, steps, From(0), "a");
  const Quantized columns = {.x = 3, .scale = 4, .zero = 5, .axis = turns_b != 0 ? 0 : 1};
  const std::string b = Floats(lift, steps, columns, "b");
  std::vector<std::string> inputs = {a, b};
  if (lift.HasInput(6)) inputs.push_back(GemmBias(lift, steps, alpha));
  const AttrMap attrs = {{"alpha", alpha}, {"transA", turns_a}, {"transB", turns_b}};
  if (lift.HasInput(7)) {
    EndQuantized(lift, steps, steps.Add("Gemm", inputs, "floats", attrs), 7, 0);
  } else {
    steps.End("Gemm", inputs, attrs);
  }
}

constexpr std::array<LiftRule, 14> kRules = {{
    {"DynamicQuantizeMatMul", kNoEnd, LiftDynamicQuantizeMatMul, 1, kMicrosoftDomain},
    {"MatMulIntegerToFloat", kNoEnd, LiftMatMulIntegerToFloat, 1, kMicrosoftDomain},
    {"NhwcMaxPool", kNoEnd, LiftChannelsLast, 1, kMicrosoftDomain},
    {"QGemm", kNoEnd, LiftGemm, 1, kMicrosoftDomain},
    {"QLinearAdd", kNoEnd, LiftElementwise, 1, kMicrosoftDomain},
    {"QLinearAveragePool", kNoEnd, LiftAveragePool, 1, kMicrosoftDomain},
    {"QLinearConcat", kNoEnd, LiftConcat, 1, kMicrosoftDomain},
    {"QLinearConv", kNoEnd, LiftChannelsLast, 1, kMicrosoftDomain},
    {"QLinearGlobalAveragePool", kNoEnd, LiftAveragePool, 1, kMicrosoftDomain},
    {"QLinearLeakyRelu", kNoEnd, LiftActivation, 1, kMicrosoftDomain},
    {"QLinearMul", kNoEnd, LiftElementwise, 1, kMicrosoftDomain},
    {"QLinearSigmoid", kNoEnd, LiftActivation, 1, kMicrosoftDomain},
    {"QLinearSoftmax", kNoEnd, LiftSoftmax, 1, kMicrosoftDomain},
    {"QLinearWhere", kNoEnd, LiftWhere, 1, kMicrosoftDomain},
}};

}  // namespace

std::span<const LiftRule> MicrosoftQuantizedLifts() {
  return kRules;
}

}  // namespace msc::detail
