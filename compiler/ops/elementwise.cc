#include "compiler/ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "compiler/ops/register.h"

// Binary and logical operators with numpy broadcasting. Integer arithmetic wraps around. Source:
// ONNX operator pages at opset 17.

namespace msc {

namespace {

/// Type for arithmetic: unsigned for integers, because signed overflow is undefined.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

struct AddFn {
  template <class T>
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct SubFn {
  template <class T>
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct MulFn {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct DivFn {
  /// Truncates integer quotients toward zero. The caller rejects zero divisors.
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      // lowest() / -1 would overflow; like a negation, it wraps to itself.
      if (b == T{-1}) return SubFn::Apply(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct MaxFn {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return std::max(a, b);
  }
};
struct MinFn {
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return std::min(a, b);
  }
};

std::vector<ValueType> InferArithmetic(const InferInput& in) {
  const DType dtype = in.types.size() == 1 ? TypeOf(in, 0) : RequireSameType(in, 0, 1);
  for (std::size_t i = 2; i < in.types.size(); ++i) RequireSameType(in, 0, i);
  if (dtype == DType::kBool || dtype == DType::kString || dtype == DType::kC64 ||
      dtype == DType::kC128) {
    RejectNode(*in.node, "cannot compute with type " + std::string(Name(dtype)));
  }
  return OneOutput(dtype, BroadcastInputs(in));
}

void RejectZeroDivisors(const Node& node, const Tensor& divisor) {
  if (IsFloat(divisor.dtype())) return;
  WithNumber(node, divisor.dtype(), [&]<class T>() {
    const auto values = divisor.Values<T>();
    if (std::find(values.begin(), values.end(), T{0}) != values.end()) {
      RejectNode(node, "divides an integer by zero");
    }
  });
}

template <class Fn>
std::vector<Tensor> EvalBinary(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferArithmetic, node, inputs);
  if constexpr (std::is_same_v<Fn, DivFn>) RejectZeroDivisors(node, *inputs[1]);
  WithNumber(node, outputs[0].dtype(), [&]<class T>() {
    BroadcastInto<T, T, T>(*inputs[0], *inputs[1], outputs[0],
                           [](T a, T b) { return Fn::template Apply<T>(a, b); });
  });
  return outputs;
}

/// Evaluates Max, Min or Sum of any number of inputs, from left to right.
template <class Fn>
std::vector<Tensor> EvalFold(const Node& node, EvalInputs inputs) {
  if (inputs.size() == 1) return {*inputs[0]};
  std::vector<Tensor> running;
  running.reserve(inputs.size());
  const Tensor* left = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::vector<const Tensor*> pair{left, inputs[i]};
    running.push_back(std::move(EvalBinary<Fn>(node, pair).front()));
    left = &running.back();
  }
  return {std::move(running.back())};
}

struct LessFn {
  template <class T>
  static bool Apply(T a, T b) {
    return a < b;
  }
};
struct LessOrEqualFn {
  template <class T>
  static bool Apply(T a, T b) {
    return a <= b;
  }
};
struct GreaterFn {
  template <class T>
  static bool Apply(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqualFn {
  template <class T>
  static bool Apply(T a, T b) {
    return a >= b;
  }
};
struct EqualFn {
  template <class T>
  static bool Apply(T a, T b) {
    return a == b;
  }
};
struct AndFn {
  static bool Apply(std::uint8_t a, std::uint8_t b) { return a != 0 && b != 0; }
};
struct OrFn {
  static bool Apply(std::uint8_t a, std::uint8_t b) { return a != 0 || b != 0; }
};
struct XorFn {
  static bool Apply(std::uint8_t a, std::uint8_t b) { return (a != 0) != (b != 0); }
};

std::vector<ValueType> InferCompare(const InferInput& in) {
  RequireSameType(in, 0, 1);
  return OneOutput(DType::kBool, BroadcastInputs(in));
}

/// Computes Equal of strings.
void EqualStrings(const Tensor& a, const Tensor& b, Tensor& y) {
  const Dims& dims = y.dims();
  const Dims a_strides = BroadcastStrides(a.dims(), dims);
  const Dims b_strides = BroadcastStrides(b.dims(), dims);
  const std::int64_t count = dims.empty() ? 1 : dims.back();
  const std::int64_t a_step = dims.empty() ? 0 : a_strides.back();
  const std::int64_t b_step = dims.empty() ? 0 : b_strides.back();
  const auto to = y.MutableValues<std::uint8_t>();
  ForEachRow(dims, {a_strides, b_strides, StridesOf(dims)},
             [&](std::span<const std::int64_t> offsets) {
               for (std::int64_t i = 0; i < count; ++i) {
                 const auto& left = a.strings()[static_cast<std::size_t>(offsets[0] + i * a_step)];
                 const auto& right = b.strings()[static_cast<std::size_t>(offsets[1] + i * b_step)];
                 to[static_cast<std::size_t>(offsets[2] + i)] = left == right ? 1 : 0;
               }
             });
}

template <class Fn>
std::vector<Tensor> EvalCompare(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferCompare, node, inputs);
  const DType dtype = inputs[0]->dtype();
  if (std::is_same_v<Fn, EqualFn> && dtype == DType::kString) {
    EqualStrings(*inputs[0], *inputs[1], outputs[0]);
    return outputs;
  }
  WithNumber(node, dtype == DType::kBool ? DType::kU8 : dtype, [&]<class T>() {
    BroadcastInto<T, T, std::uint8_t>(*inputs[0], *inputs[1], outputs[0],
                                      [](T a, T b) { return Fn::template Apply<T>(a, b); });
  });
  return outputs;
}

/// Evaluates Mean: the sum of the inputs, divided by their number.
std::vector<Tensor> EvalMean(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = EvalFold<AddFn>(node, inputs);
  WithFloat(node, outputs[0].dtype(), [&]<class T>() {
    const auto count = static_cast<T>(inputs.size());
    for (T& value : outputs[0].template MutableValues<T>()) value /= count;
  });
  return outputs;
}

std::vector<ValueType> InferTest(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = DType::kBool;
  return types;
}

std::vector<Tensor> EvalTest(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferTest, node, inputs);
  const bool above = AttrOr(node, "detect_positive", std::int64_t{1}) != 0;
  const bool below = AttrOr(node, "detect_negative", std::int64_t{1}) != 0;
  const auto y = outputs[0].MutableValues<std::uint8_t>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = NumberAt(*inputs[0], static_cast<std::int64_t>(i));
    const bool infinite = std::isinf(x) && (x > 0 ? above : below);
    y[i] = (node.op == "IsNaN" ? std::isnan(x) : infinite) ? 1 : 0;
  }
  return outputs;
}

std::vector<ValueType> InferLogical(const InferInput& in) {
  for (std::size_t i = 0; i < in.types.size(); ++i) RequireType(in, i, {DType::kBool});
  return OneOutput(DType::kBool, BroadcastInputs(in));
}

template <class Fn>
std::vector<Tensor> EvalLogical(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLogical, node, inputs);
  BroadcastInto<std::uint8_t, std::uint8_t, std::uint8_t>(*inputs[0], *inputs[1], outputs[0],
                                                          Fn::Apply);
  return outputs;
}

std::vector<Tensor> EvalNot(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLogical, node, inputs);
  const auto from = inputs[0]->Values<std::uint8_t>();
  const auto to = outputs[0].MutableValues<std::uint8_t>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] == 0 ? 1 : 0;
  return outputs;
}

std::vector<ValueType> InferPow(const InferInput& in) {
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64});
  return OneOutput(TypeOf(in, 0), BroadcastInputs(in));
}

/// Returns base to a whole power of at least 0, exactly; what T cannot hold saturates.
template <class T>
T WholePower(T base, std::int64_t exponent) {
  const bool negative = base < 0 && exponent % 2 != 0;
  T power = 1;
  bool overflows = false;
  while (exponent > 0 && !overflows) {
    if (exponent % 2 != 0) overflows = __builtin_mul_overflow(power, base, &power);
    exponent /= 2;
    // The last square is not used and may overflow.
    if (exponent > 0) overflows = __builtin_mul_overflow(base, base, &base) || overflows;
  }
  if (!overflows) return power;
  return negative ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

std::vector<Tensor> EvalPow(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferPow, node, inputs);
  Tensor exponents(DType::kF64, inputs[1]->dims());
  const auto wide = exponents.MutableValues<double>();
  for (std::size_t i = 0; i < wide.size(); ++i) {
    wide[i] = NumberAt(*inputs[1], static_cast<std::int64_t>(i));
  }
  WithNumber(node, outputs[0].dtype(), [&]<class T>() {
    BroadcastInto<T, double, T>(*inputs[0], exponents, outputs[0], [](T a, double b) {
      if constexpr (std::is_integral_v<T>) {
        constexpr double kMost = 1e6;  // of this exponent, only -1, 0 and 1 do not overflow
        if (b >= 0 && b <= kMost && b == std::floor(b)) {
          return WholePower(a, static_cast<std::int64_t>(b));
        }
      }
      const double power = std::pow(static_cast<double>(a), b);
      if constexpr (std::is_integral_v<T>) {
        // Converting a double beyond the range of T would be undefined, so the result saturates.
        // `-least` is max + 1, which double holds exactly.
        const auto least = static_cast<double>(std::numeric_limits<T>::min());
        if (std::isnan(power)) return T{0};
        if (power >= -least) return std::numeric_limits<T>::max();
        if (power <= least) return std::numeric_limits<T>::min();
      }
      return static_cast<T>(power);
    });
  });
  return outputs;
}

OpDef Binary(std::string name, InferFn infer, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {2, 2},
          .infer = std::move(infer),
          .eval = ViaF32(std::move(eval)),
          .flops = OneFlopEach};
}

OpDef Fold(std::string name, EvalFn eval) {
  OpDef op = Binary(std::move(name), InferArithmetic, std::move(eval));
  op.inputs = {1, OpDef::kVariadic};
  op.flops = [](const Node& node, std::span<const ValueType> /*in*/,
                std::span<const ValueType> out) {
    return ElementsOf(out[0]) * static_cast<double>(node.inputs.size() - 1);
  };
  return op;
}

}  // namespace

void RegisterElementwiseOps(OpRegistry& ops) {
  ops.Add(Binary("Add", InferArithmetic, EvalBinary<AddFn>));
  ops.Add(Binary("Sub", InferArithmetic, EvalBinary<SubFn>));
  ops.Add(Binary("Mul", InferArithmetic, EvalBinary<MulFn>));
  ops.Add(Binary("Div", InferArithmetic, EvalBinary<DivFn>));
  ops.Add(Binary("Pow", InferPow, EvalPow));
  ops.Add(Fold("Max", EvalFold<MaxFn>));
  ops.Add(Fold("Min", EvalFold<MinFn>));
  ops.Add(Fold("Sum", EvalFold<AddFn>));
  ops.Add(Fold("Mean", EvalMean));
  ops.Add({.name = "IsNaN",
           .inputs = {1, 1},
           .infer = InferTest,
           .eval = EvalTest,
           .flops = OneFlopEach});
  ops.Add({.name = "IsInf",
           .inputs = {1, 1},
           .attrs = {{.name = "detect_negative", .otherwise = std::int64_t{1}},
                     {.name = "detect_positive", .otherwise = std::int64_t{1}}},
           .infer = InferTest,
           .eval = EvalTest,
           .flops = OneFlopEach});
  ops.Add(Binary("Equal", InferCompare, EvalCompare<EqualFn>));
  ops.Add(Binary("Less", InferCompare, EvalCompare<LessFn>));
  ops.Add(Binary("LessOrEqual", InferCompare, EvalCompare<LessOrEqualFn>));
  ops.Add(Binary("Greater", InferCompare, EvalCompare<GreaterFn>));
  ops.Add(Binary("GreaterOrEqual", InferCompare, EvalCompare<GreaterOrEqualFn>));
  ops.Add(Binary("And", InferLogical, EvalLogical<AndFn>));
  ops.Add(Binary("Or", InferLogical, EvalLogical<OrFn>));
  ops.Add(Binary("Xor", InferLogical, EvalLogical<XorFn>));
  ops.Add({.name = "Not",
           .inputs = {1, 1},
           .infer = InferLogical,
           .eval = EvalNot,
           .flops = OneFlopEach});
}

}  // namespace msc
