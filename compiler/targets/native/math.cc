#include "compiler/targets/native/math.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <string>

#include "compiler/base/error.h"
#include "compiler/targets/native/logic.h"
#include "compiler/targets/native/quantize.h"

namespace msc::native {
namespace {

using kernel::Binary;
using kernel::Float;
using kernel::Op;
using kernel::Select;
using kernel::Unary;

Expr Like(double value, const Expr& x) {
  return Float(value, x->type.lanes);
}

// NaN passes bounds, as in the reference kernels: kMax and kMin return their second operand for it.

Expr AtLeast(double low, const Expr& x) {
  return Binary(Op::kMax, Like(low, x), x);
}

Expr AtMost(double high, const Expr& x) {
  return Binary(Op::kMin, Like(high, x), x);
}

Expr Clamp(const Expr& x, double low, double high) {
  // Bounds of +-FLT_MAX, ONNX's defaults, limit infinite values.
  constexpr double kMost = std::numeric_limits<float>::max();
  Expr y = x;
  if (low >= -kMost) y = AtLeast(low, y);
  if (high <= kMost) y = AtMost(high, y);
  return y;
}

/// Returns the extreme of two values, NaN if one of them is.
Expr Extreme(Op op, const Expr& a, const Expr& b) {
  return Select(Binary(Op::kEqual, a, a), Binary(op, a, b), a);
}

Expr SigmoidOf(const Expr& x) {
  return Unary(Op::kSigmoid, x);
}

Expr HardSigmoidOf(const Expr& x, double alpha, double beta) {
  return Clamp(x * Like(alpha, x) + Like(beta, x), 0, 1);
}

Expr GeluOf(const Expr& x, bool tanh) {
  const Expr half = Like(0.5, x) * x;
  // For large negative x the sum 1 + erf cancels: the absolute error of the result is then that of
  // erf times |x| / 2.
  if (!tanh) return half * (Like(1, x) + Unary(Op::kErf, x * Like(1 / std::numbers::sqrt2, x)));
  // The approximation of Hendrycks and Gimpel 2016 ("Gaussian error linear units"): sqrt(2 / pi)
  // and 0.044715.
  const Expr cube = x * x * x;
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return half * (Like(1, x) + Unary(Op::kTanh, Like(scale, x) * (x + Like(0.044715, x) * cube)));
}

Expr LeakyOf(const Expr& x, const Expr& slope) {
  // NaN is not less than 0 and passes through.
  return Select(Binary(Op::kLess, x, Like(0, x)), x * slope, x);
}

/// Returns a scalar constant input; `otherwise` if it is absent.
double ConstantInput(const Graph& graph, const Node& node, std::size_t index, double otherwise) {
  if (index >= node.inputs.size() || node.inputs[index] == kNoValue) return otherwise;
  const TensorPtr tensor = graph.constant(node.inputs[index]);
  Check(tensor != nullptr && tensor->size() == 1, "IsElementwise looked at the bounds");
  return static_cast<double>(tensor->Values<float>().front());
}

using Unaries = std::map<std::string, std::function<Expr(const Node&, const Expr&)>, std::less<>>;

const Unaries& UnaryOps() {
  static const Unaries* const kOps = new Unaries{
      {"Identity", [](const Node&, const Expr& x) { return x; }},
      {"Relu", [](const Node&, const Expr& x) { return AtLeast(0, x); }},
      {"Sigmoid", [](const Node&, const Expr& x) { return SigmoidOf(x); }},
      {"Tanh", [](const Node&, const Expr& x) { return Unary(Op::kTanh, x); }},
      {"Exp", [](const Node&, const Expr& x) { return Unary(Op::kExp, x); }},
      {"Log", [](const Node&, const Expr& x) { return Unary(Op::kLog, x); }},
      {"Erf", [](const Node&, const Expr& x) { return Unary(Op::kErf, x); }},
      {"Sqrt", [](const Node&, const Expr& x) { return Unary(Op::kSqrt, x); }},
      {"Floor", [](const Node&, const Expr& x) { return Unary(Op::kFloor, x); }},
      {"Neg", [](const Node&, const Expr& x) { return Like(0, x) - x; }},
      {"Abs", [](const Node&, const Expr& x) { return Binary(Op::kMax, x, Like(0, x) - x); }},
      {"Reciprocal", [](const Node&, const Expr& x) { return Binary(Op::kDiv, Like(1, x), x); }},
      {"HardSwish", [](const Node&, const Expr& x) { return x * HardSigmoidOf(x, 1.0 / 6, 0.5); }},
      {"HardSigmoid",
       [](const Node& node, const Expr& x) {
         return HardSigmoidOf(x, AttrOr(node, "alpha", 0.2F), AttrOr(node, "beta", 0.5F));
       }},
      {"LeakyRelu",
       [](const Node& node, const Expr& x) {
         return LeakyOf(x, Like(AttrOr(node, "alpha", 0.01F), x));
       }},
      {"Softplus",
       // max(x, 0) + log(1 + exp(-|x|)): exp cannot overflow.
       // Below x = -16.6 the sum 1 + exp(x) rounds to 1 and the result to 0, with an absolute error
       // of at most 2^-24.
       [](const Node&, const Expr& x) {
         return AtLeast(0, x) +
                Unary(Op::kLog, Like(1, x) + Unary(Op::kExp, Like(0, x) - Binary(Op::kMax, x,
                                                                                 Like(0, x) - x)));
       }},
  };
  return *kOps;
}

const std::map<std::string, Op, std::less<>>& BinaryOps() {
  static const auto* const kOps = new std::map<std::string, Op, std::less<>>{
      {"Add", Op::kAdd}, {"Sub", Op::kSub}, {"Mul", Op::kMul},
      {"Div", Op::kDiv}, {"Min", Op::kMin}, {"Max", Op::kMax},
  };
  return *kOps;
}

bool IsF32(const Graph& graph, ValueId value) {
  return graph.type(value).dtype == DType::kF32;
}

bool IsQuantizing(const Node& node) {
  return node.Is("QuantizeLinear") || node.Is("DequantizeLinear");
}

/// Returns constant scale and zero point of a whole tensor; nullopt for others.
std::optional<QuantParams> ParamsOf(const Graph& graph, const Node& node) {
  const TensorPtr scale = graph.constant(node.inputs[1]);
  if (scale == nullptr || scale->size() != 1) return std::nullopt;
  QuantParams params{.scale = scale->Values<float>().front(), .zero_point = 0};
  // The negated comparison rejects NaN, too.
  if (!(params.scale > 0) || std::isinf(params.scale)) return std::nullopt;
  if (node.HasInput(2)) {
    const TensorPtr zero = graph.constant(node.inputs[2]);
    if (zero == nullptr || zero->size() != 1 || !IsQuantized(zero->dtype())) return std::nullopt;
    params.zero_point = zero->dtype() == DType::kI8 ? std::int64_t{zero->Values<std::int8_t>()[0]}
                                                    : std::int64_t{zero->Values<std::uint8_t>()[0]};
  }
  return params;
}

/// Returns whether the node is a QuantizeLinear from f32 or a DequantizeLinear to f32 of a whole
/// tensor.
bool TakesQuantizing(const Graph& graph, const Node& node) {
  const DType from = graph.type(node.inputs[0]).dtype;
  const DType to = graph.type(node.outputs[0]).dtype;
  const bool quantize = node.op == "QuantizeLinear";
  if (!(quantize ? from == DType::kF32 && IsQuantized(to) : IsQuantized(from) && to == DType::kF32))
    return false;
  return ParamsOf(graph, node).has_value();
}

/// Returns whether a Cast keeps floats, stores them in fewer bits or reads them, makes numbers of
/// integers and bools, or bools of numbers. Casts of floats to integers round toward zero, unlike
/// those of kernels.
bool TakesCast(const Graph& graph, const Node& node) {
  const DType from = graph.type(node.inputs[0]).dtype;
  const DType to = graph.type(node.outputs[0]).dtype;
  const auto narrow = [](DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; };
  if (from == to) return from == DType::kF32 || narrow(from);
  const bool counts = from == DType::kBool || from == DType::kI32 || from == DType::kI64;
  if (to == DType::kF32) return narrow(from) || counts;
  if (to == DType::kBool) return from == DType::kF32 || counts;
  return from == DType::kF32 && narrow(to);
}

/// Computes msc.Binary with both operands in the unit that makes activation and rounding cheapest.
Expr BinaryOf(KernelWriter& writer, const Node& node, const Expr& a, const Expr& b, Body& body) {
  FusedAttrs attrs = ReadFusedAttrs(node);
  const bool scaled = IsQuantized(attrs.y_type) && CommutesWithScale(attrs.activation);
  // In steps of y, the last multiplication before rounding falls away. A product takes the unit in
  // one of its factors only.
  const double unit = scaled ? static_cast<double>(attrs.y.scale) : 1;
  const bool add = AttrOr(node, "op", std::string()) == "Add";
  Expr value = add ? Dequantized(a, attrs.x, unit) + Dequantized(b, attrs.r, unit)
                   : Dequantized(a, attrs.x, unit) * Dequantized(b, attrs.r, 1);
  value = ActivationOf(writer, InUnit(attrs.activation, unit), std::move(value), nullptr, body);
  return Quantized(std::move(value), attrs.y, unit, attrs.y_type);
}

}  // namespace

Expr ActivationOf(KernelWriter& writer, const Activation& activation, Expr x, const Expr& slope,
                  Body& body) {
  const std::string& op = activation.op;
  if (op.empty()) return x;
  x = writer.Bind(std::move(x), body);
  if (op == "Relu") return AtLeast(0, x);
  if (op == "Clip") return Clamp(x, activation.alpha, activation.beta);
  if (op == "Sigmoid") return SigmoidOf(x);
  if (op == "Tanh") return Unary(Op::kTanh, x);
  if (op == "HardSigmoid") return HardSigmoidOf(x, activation.alpha, activation.beta);
  if (op == "HardSwish") return x * HardSigmoidOf(x, 1.0 / 6, 0.5);
  if (op == "Swish") return x * SigmoidOf(x);
  if (op == "LeakyRelu") return LeakyOf(x, Like(activation.alpha, x));
  if (op == "PRelu") return LeakyOf(x, slope);
  if (op == "Gelu") return GeluOf(x, false);
  if (op == "GeluTanh") return GeluOf(x, true);
  throw InternalError("unknown activation '" + op + "'", __FILE__, __LINE__);
}

std::size_t OperandCount(const Node& node) {
  const bool one = node.op == "Clip" || node.op == "Pow" || node.op == "BatchNormalization" ||
                   IsQuantizing(node);
  return one ? 1 : node.inputs.size();
}

bool IsElementwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1 || node.inputs.empty()) return false;
  if (node.Is("Binary", "msc")) return TakesFused(graph, node);
  if (IsQuantizing(node)) return TakesQuantizing(graph, node);
  if (node.Is("Cast")) return TakesCast(graph, node);
  if (IsLogic(graph, node)) return true;
  if (!IsF32(graph, node.outputs[0])) return false;
  for (std::size_t i = 0; i < OperandCount(node); ++i) {
    if (node.inputs[i] == kNoValue || !IsF32(graph, node.inputs[i])) return false;
  }
  // All other inputs are read at compile time.
  for (std::size_t i = OperandCount(node); i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const TensorPtr constant = graph.constant(node.inputs[i]);
    if (constant == nullptr || constant->dtype() != DType::kF32) return false;
    if (constant->size() != 1 && node.op != "BatchNormalization") return false;
  }
  if (node.domain == "msc") return node.op == "Gelu";
  if (!node.domain.empty()) return false;
  if (node.op == "BatchNormalization") {
    const auto& shape = graph.type(node.inputs[0]).shape;
    return node.inputs.size() == 5 && shape && shape->size() >= 2 &&
           AttrOr<std::int64_t>(node, "training_mode", 0) == 0;
  }
  if (node.op == "Pow") {
    if (node.inputs.size() != 2 || !graph.constant(node.inputs[1])) return false;
    const double power = ConstantInput(graph, node, 1, 0);
    return power == 2 || power == 3 || power == 0.5 || power == 1 || power == -1;
  }
  return UnaryOps().contains(node.op) || BinaryOps().contains(node.op) || node.op == "Clip" ||
         node.op == "PRelu" || node.op == "Sum";
}

namespace {

/// Applies an operation of two operands to `first` and each of `others` in turn.
Expr Chain(KernelWriter& writer, Op op, Expr first, std::span<const Expr> others, Body& body) {
  const bool extreme = op == Op::kMin || op == Op::kMax;
  for (const Expr& other : others) {
    first = extreme ? Extreme(op, writer.Bind(first, body), other) : Binary(op, first, other);
  }
  return first;
}

}  // namespace

Expr ElementwiseOf(KernelWriter& writer, const Graph& graph, NodeId id,
                   std::span<const Expr> operands, Body& body) {
  const Node& node = graph.node(id);
  const Expr x = writer.Bind(operands[0], body);
  if (node.domain == "msc" && node.op == "Gelu") {
    return GeluOf(x, AttrOr(node, "op", std::string("Gelu")) == "GeluTanh");
  }
  if (node.domain == "msc") return BinaryOf(writer, node, x, operands[1], body);
  if (node.op == "Cast") {
    return kernel::Cast(x, {graph.type(node.outputs[0]).dtype, x->type.lanes});
  }
  if (IsLogic(graph, node)) return LogicOf(node, operands);
  if (node.op == "DequantizeLinear") return Dequantized(x, *ParamsOf(graph, node), 1);
  if (node.op == "QuantizeLinear") {
    const QuantParams params = *ParamsOf(graph, node);
    const Expr zero = Like(0, x);
    const Expr real = Select(Binary(Op::kEqual, x, x), x, zero);  // NaN becomes the zero point
    // Divides, as ONNX specifies: multiplying by the inverse would round some ties differently.
    return Rounded(Binary(Op::kDiv, real, Like(static_cast<double>(params.scale), x)),
                   params.zero_point, graph.type(node.outputs[0]).dtype);
  }
  if (const auto unary = UnaryOps().find(node.op); unary != UnaryOps().end()) {
    return unary->second(node, x);
  }
  if (node.op == "Clip") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return Clamp(x, ConstantInput(graph, node, 1, -kInfinity),
                 ConstantInput(graph, node, 2, kInfinity));
  }
  if (node.op == "BatchNormalization") return x * operands[1] + operands[2];
  if (node.op == "PRelu") return LeakyOf(x, operands[1]);
  if (node.op == "Pow") {
    const double power = ConstantInput(graph, node, 1, 1);
    if (power == 0.5) return Unary(Op::kSqrt, x);
    if (power == -1) return Binary(Op::kDiv, Like(1, x), x);
    return power == 1 ? x : power == 2 ? x * x : x * x * x;
  }
  const auto binary = BinaryOps().find(node.op);
  const Op op = binary != BinaryOps().end() ? binary->second : Op::kAdd;  // Sum
  return Chain(writer, op, x, operands.subspan(1), body);
}

}  // namespace msc::native
