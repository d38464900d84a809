#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "compiler/ops/elementwise.h"
#include "compiler/ops/register.h"

// Unary elementwise functions, Clip and PRelu. Source: ONNX operator pages at opset 17.

namespace msc {
namespace {

/// Values of an operator's attributes, in the order of UnaryOp::attrs.
using Params = std::array<float, 2>;

template <class T>
using Unary = T (*)(T x, const Params& params);

std::vector<ValueType> InferFloat(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  return SameAsFirst(in);
}

std::vector<ValueType> InferNumber(const InferInput& in) {
  const DType dtype = TypeOf(in, 0);
  if (dtype == DType::kBool || dtype == DType::kString || dtype == DType::kC64 ||
      dtype == DType::kC128) {
    RejectNode(*in.node, "cannot compute with type " + std::string(Name(dtype)));
  }
  return SameAsFirst(in);
}

struct UnaryOp {
  std::string name;
  Unary<float> f32;
  Unary<double> f64;
  std::vector<std::pair<std::string, float>> attrs = {};  ///< names and defaults; at most two
  double flops = 1.0;  ///< per element; a transcendental function counts 10
};

/// Instantiates a generic function for float and double.
template <class Fn>
UnaryOp Make(const std::string& name, double flops, Fn /*fn*/) {
  return {.name = name,
          .f32 = [](float x, const Params& p) { return Fn{}(x, p); },
          .f64 = [](double x, const Params& p) { return Fn{}(x, p); },
          .flops = flops};
}

UnaryOp WithAttrs(UnaryOp op, std::vector<std::pair<std::string, float>> attrs) {
  op.attrs = std::move(attrs);
  return op;
}

OpDef DefOf(UnaryOp op) {
  OpDef def{.name = op.name, .inputs = {1, 1}, .infer = {}, .eval = {}};
  for (const auto& [name, value] : op.attrs) {
    def.attrs.push_back({.name = name, .otherwise = value});
  }
  def.infer = InferFloat;
  def.flops = [flops = op.flops](const Node& /*node*/, std::span<const ValueType> /*in*/,
                                 std::span<const ValueType> out) {
    return flops * ElementsOf(out[0]);
  };
  def.eval = ViaF32([op = std::move(op)](const Node& node, EvalInputs inputs) {
    std::vector<Tensor> outputs = NewOutputs(InferFloat, node, inputs);
    Params params = {};
    for (std::size_t i = 0; i < op.attrs.size(); ++i) {
      params.at(i) = AttrOr(node, op.attrs[i].first, op.attrs[i].second);
    }
    WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
      const auto from = inputs[0]->Values<T>();
      const auto to = outputs[0].template MutableValues<T>();
      Unary<T> fn = nullptr;
      if constexpr (std::is_same_v<T, float>) {
        fn = op.f32;
      } else {
        fn = op.f64;
      }
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = fn(from[i], params);
    });
    return outputs;
  });
  return def;
}

/// Defines an operator that also accepts integers: Relu, Abs, Neg, Sign.
template <class Fn>
OpDef NumberDef(const std::string& name, Fn fn) {
  return {.name = name,
          .inputs = {1, 1},
          .infer = InferNumber,
          .eval = ViaF32([fn](const Node& node, EvalInputs inputs) {
            std::vector<Tensor> outputs = NewOutputs(InferNumber, node, inputs);
            WithNumber(node, inputs[0]->dtype(), [&]<class T>() {
              const auto from = inputs[0]->Values<T>();
              const auto to = outputs[0].template MutableValues<T>();
              for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(fn(from[i]));
            });
            return outputs;
          }),
          .flops = OneFlopEach};
}

std::vector<ValueType> InferClip(const InferInput& in) {
  for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    if (!HasInput(in, bound)) continue;
    RequireSameType(in, 0, bound);
    const Shape* shape = ShapeOf(in, bound);
    if (shape != nullptr && !shape->empty() && *shape != Shape{1}) {
      RejectNode(*in.node, "input " + std::to_string(bound) + " must be a single number, not " +
                               ToString(*shape));
    }
  }
  return InferNumber(in);
}

std::vector<Tensor> EvalClip(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferClip, node, inputs);
  WithNumber(node, inputs[0]->dtype(), [&]<class T>() {
    const Tensor* low = InputAt(inputs, 1);
    const Tensor* high = InputAt(inputs, 2);
    const auto from = inputs[0]->Values<T>();
    const auto to = outputs[0].template MutableValues<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      T x = from[i];
      // These comparisons are false for NaN, so NaN passes through. The upper bound applies last
      // and wins, as in ONNX.
      if (low != nullptr && x < low->Values<T>()[0]) x = low->Values<T>()[0];
      if (high != nullptr && x > high->Values<T>()[0]) x = high->Values<T>()[0];
      to[i] = x;
    }
  });
  return outputs;
}

std::vector<ValueType> InferPRelu(const InferInput& in) {
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
               DType::kU32, DType::kU64});
  const DType dtype = RequireSameType(in, 0, 1);
  const Shape* x = ShapeOf(in, 0);
  const Shape* slope = ShapeOf(in, 1);
  if (x == nullptr || slope == nullptr) return SameAsFirst(in);
  // Unidirectional broadcast: the slope must broadcast to X, never X to the slope.
  const Shape y = BroadcastShapes(*in.node, *x, *slope);
  const auto stretched = [](const Dim& from, const Dim& to) {
    return from.known() && to.known() && from.size() != to.size();
  };
  if (y.size() != x->size() ||
      !std::equal(x->begin(), x->end(), y.begin(),
                  [&](const Dim& a, const Dim& b) { return !stretched(a, b); })) {
    RejectNode(*in.node, "slope " + ToString(*slope) + " does not stretch to " + ToString(*x));
  }
  return OneOutput(dtype, *x);
}

std::vector<Tensor> EvalPRelu(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferPRelu, node, inputs);
  WithSummand(node, inputs[0]->dtype(), [&]<class T>() {
    BroadcastInto<T, T, T>(*inputs[0], *inputs[1], outputs[0], [](T x, T slope) {
      if (!(x < T{0})) return x;
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // signed overflow is undefined
        return static_cast<T>(static_cast<U>(x) * static_cast<U>(slope));
      } else {
        return x * slope;
      }
    });
  });
  return outputs;
}

void RegisterUnary(OpRegistry& ops) {
  using P = const Params&;
  const auto add = [&](UnaryOp op) { ops.Add(DefOf(std::move(op))); };
  // Takes exp only of a non-positive number, which cannot overflow.
  const auto sigmoid = [](auto x, P) {
    using T = decltype(x);
    const T e = std::exp(-std::abs(x));
    return x >= T{0} ? T{1} / (T{1} + e) : e / (T{1} + e);
  };
  const auto hard_sigmoid = [](auto x, P p) {
    using T = decltype(x);
    const T y = static_cast<T>(p[0]) * x + static_cast<T>(p[1]);
    return y < T{0} ? T{0} : y > T{1} ? T{1} : y;
  };
  const auto hard_swish = [](auto x, P) {
    using T = decltype(x);
    const T gate = x / T{6} + T{0.5};
    return x * (gate < T{0} ? T{0} : gate > T{1} ? T{1} : gate);
  };
  const auto leaky = [](auto x, P p) {
    using T = decltype(x);
    return x < T{0} ? static_cast<T>(p[0]) * x : x;
  };
  // expm1, because exp(x) - 1 loses precision near 0.
  const auto elu = [](auto x, P p) {
    using T = decltype(x);
    return x < T{0} ? static_cast<T>(p[0]) * std::expm1(x) : x;
  };
  // log(1 + exp(x)) without an overflow of exp.
  const auto softplus = [](auto x, P) {
    using T = decltype(x);
    return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
  };
  add(Make("Sigmoid", 12, sigmoid));
  add(WithAttrs(Make("HardSigmoid", 4, hard_sigmoid), {{"alpha", 0.2F}, {"beta", 0.5F}}));
  add(Make("HardSwish", 5, hard_swish));
  add(WithAttrs(Make("LeakyRelu", 2, leaky), {{"alpha", 0.01F}}));
  add(WithAttrs(Make("Elu", 12, elu), {{"alpha", 1.0F}}));
  add(Make("Softplus", 22, softplus));
  add(Make("Softsign", 3, [](auto x, P) { return x / (decltype(x){1} + std::abs(x)); }));
  add(Make("Tanh", 10, [](auto x, P) { return std::tanh(x); }));
  add(Make("Exp", 10, [](auto x, P) { return std::exp(x); }));
  add(Make("Log", 10, [](auto x, P) { return std::log(x); }));
  add(Make("Sqrt", 1, [](auto x, P) { return std::sqrt(x); }));
  add(Make("Erf", 10, [](auto x, P) { return std::erf(x); }));
  add(Make("Reciprocal", 1, [](auto x, P) { return decltype(x){1} / x; }));
  add(Make("Floor", 1, [](auto x, P) { return std::floor(x); }));
  add(Make("Ceil", 1, [](auto x, P) { return std::ceil(x); }));
  const auto celu = [](auto x, P p) {
    using T = decltype(x);
    const auto alpha = static_cast<T>(p[0]);
    return x < T{0} ? alpha * std::expm1(x / alpha) : x;
  };
  const auto selu = [](auto x, P p) {
    using T = decltype(x);
    const auto gamma = static_cast<T>(p[1]);
    return gamma * (x <= T{0} ? static_cast<T>(p[0]) * std::expm1(x) : x);
  };
  const auto thresholded = [](auto x, P p) {
    using T = decltype(x);
    return x > static_cast<T>(p[0]) ? x : T{0};
  };
  add(WithAttrs(Make("Celu", 12, celu), {{"alpha", 1.0F}}));
  add(WithAttrs(Make("Selu", 12, selu),
                {{"alpha", 1.67326319217681884765625F}, {"gamma", 1.05070102214813232421875F}}));
  add(WithAttrs(Make("ThresholdedRelu", 1, thresholded), {{"alpha", 1.0F}}));
  add(Make("Acos", 10, [](auto x, P) { return std::acos(x); }));
  add(Make("Acosh", 10, [](auto x, P) { return std::acosh(x); }));
  add(Make("Asin", 10, [](auto x, P) { return std::asin(x); }));
  add(Make("Asinh", 10, [](auto x, P) { return std::asinh(x); }));
  add(Make("Atan", 10, [](auto x, P) { return std::atan(x); }));
  add(Make("Atanh", 10, [](auto x, P) { return std::atanh(x); }));
  add(Make("Cos", 10, [](auto x, P) { return std::cos(x); }));
  add(Make("Cosh", 10, [](auto x, P) { return std::cosh(x); }));
  add(Make("Sin", 10, [](auto x, P) { return std::sin(x); }));
  add(Make("Sinh", 10, [](auto x, P) { return std::sinh(x); }));
  add(Make("Tan", 10, [](auto x, P) { return std::tan(x); }));
  // Rounds ties to even: no code in this process changes the rounding mode.
  add(Make("Round", 1, [](auto x, P) { return std::nearbyint(x); }));
}

}  // namespace

void RegisterActivationOps(OpRegistry& ops) {
  RegisterUnary(ops);
  ops.Add(NumberDef("Relu", [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; }));
  ops.Add(NumberDef("Abs", [](auto x) {
    if constexpr (std::is_unsigned_v<decltype(x)>) {
      return x;
    } else if constexpr (std::is_floating_point_v<decltype(x)>) {
      return std::abs(x);
    } else {
      using U = std::make_unsigned_t<decltype(x)>;
      return static_cast<decltype(x)>(x < 0 ? U{0} - static_cast<U>(x) : static_cast<U>(x));
    }
  }));
  ops.Add(NumberDef("Neg", [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return -x;
    } else {
      using U = std::make_unsigned_t<decltype(x)>;
      return static_cast<decltype(x)>(U{0} - static_cast<U>(x));
    }
  }));
  ops.Add(NumberDef("Sign", [](auto x) {
    using T = decltype(x);
    return static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
  }));
  ops.Add({.name = "Clip",
           .inputs = {1, 3},
           .infer = InferClip,
           .eval = ViaF32(EvalClip),
           .flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                       std::span<const ValueType> out) { return 2.0 * ElementsOf(out[0]); }});
  ops.Add({.name = "PRelu",
           .inputs = {2, 2},
           .infer = InferPRelu,
           .eval = ViaF32(EvalPRelu),
           .flops = OneFlopEach});
}

}  // namespace msc
