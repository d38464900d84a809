#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/quantize.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// Integer arithmetic. Source: ONNX operator pages BitShift-28, Mod-28, ConvInteger-10,
// MatMulInteger-10, QLinearConv-10, QLinearMatMul-10, DynamicQuantizeLinear-11. Sums of products of
// 8-bit integers stay below 2^53, so double holds them exactly.

namespace msc {
namespace {

std::vector<ValueType> InferBitShift(const InferInput& in) {
  RequireType(in, 0,
              {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
               DType::kU32, DType::kU64});
  const std::string direction = AttrOr(*in.node, "direction", std::string());
  if (direction != "LEFT" && direction != "RIGHT") {
    RejectNode(*in.node, "attribute 'direction' cannot be '" + direction + "'");
  }
  return OneOutput(RequireSameType(in, 0, 1), BroadcastInputs(in));
}

std::vector<Tensor> EvalBitShift(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferBitShift, node, inputs);
  const bool left = AttrOr(node, "direction", std::string()) == "LEFT";
  WithInteger(outputs[0].dtype(), [&]<class T>() {
    BroadcastInto<T, T, T>(*inputs[0], *inputs[1], outputs[0], [&](T a, T b) {
      using Bits = std::make_unsigned_t<T>;
      const auto value = static_cast<std::uint64_t>(static_cast<Bits>(a));
      // As unsigned, a negative number of bits is a large one, which shifts all bits out.
      const auto by = static_cast<std::uint64_t>(static_cast<Bits>(b));
      // C++ leaves a shift by the width of the operand or more undefined.
      if (by >= 8 * sizeof(T)) return a < T{0} && !left ? static_cast<T>(-1) : T{0};
      return left ? static_cast<T>(value << by) : static_cast<T>(a >> by);
    });
  });
  return outputs;
}

std::vector<ValueType> InferMod(const InferInput& in) {
  return OneOutput(RequireSameType(in, 0, 1), BroadcastInputs(in));
}

/// Returns a - floor(a / b) * b, without its rounding. A zero has the sign of the divisor.
template <class T>
T FloorMod(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == T{0}) return std::copysign(rest, b);
  return (rest < T{0}) != (b < T{0}) ? rest + b : rest;
}

/// Returns the rest of a division by b, which is not 0: of its floor, or truncated as in C.
template <class T>
T IntegerMod(T a, T b, bool as_c) {
  if constexpr (std::is_signed_v<T>) {
    // lowest() % -1 is undefined, because the quotient overflows.
    if (b == T{-1}) return T{0};
  }
  const auto rest = static_cast<T>(a % b);
  const bool moves = !as_c && rest != T{0} && ((rest < T{0}) != (b < T{0}));
  return moves ? static_cast<T>(rest + b) : rest;
}

std::vector<Tensor> EvalMod(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMod, node, inputs);
  const bool as_c = AttrOr(node, "fmod", std::int64_t{0}) != 0;
  WithNumber(node, outputs[0].dtype(), [&]<class T>() {
    BroadcastInto<T, T, T>(*inputs[0], *inputs[1], outputs[0], [&](T a, T b) {
      if constexpr (std::is_floating_point_v<T>) {
        return as_c ? std::fmod(a, b) : FloorMod(a, b);
      } else {
        if (b == T{0}) RejectNode(node, "divides an integer by zero");
        return IntegerMod(a, b, as_c);
      }
    });
  });
  return outputs;
}

/// Returns the zero points of an input: a shared one, or one per entry of an axis of `count`
/// entries.
std::vector<double> ZerosOf(const Node& node, const Tensor* zeros, std::int64_t count) {
  if (zeros == nullptr) return {0.0};
  if (zeros->size() != 1 && (zeros->dims().size() != 1 || zeros->size() != count)) {
    RejectNode(node, "zero points " + ToString(zeros->dims()) + " do not fit");
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < zeros->size(); ++i) values.push_back(NumberAt(*zeros, i));
  return values;
}

/// Subtracts the zero points; `inner` consecutive elements share one.
std::vector<double> Centered(const Tensor& x, const std::vector<double>& zeros,
                             std::int64_t inner) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i / std::max<std::int64_t>(inner, 1)) % zeros.size();
    values.push_back(NumberAt(x, i) - zeros[at]);
  }
  return values;
}

std::vector<ValueType> InferConvInteger(const InferInput& in) {
  RequireType(in, 0, {DType::kI8, DType::kU8});
  RequireType(in, 1, {DType::kI8, DType::kU8});
  InferInput plain = in;
  plain.types.resize(2);
  return OneOutput(DType::kI32, ConvOutputShape(plain));
}

std::vector<double> ConvSums(const Node& node, const Tensor& x, const Tensor& w,
                             const std::vector<double>& x_zero, const std::vector<double>& w_zero,
                             const Tensor& y) {
  const ConvProblem problem = ConvProblemOf(node, x, w, y);
  // Subtracting the zero point first makes the padding, a 0 here, equal to the zero point of X.
  const std::vector<double> from = Centered(x, x_zero, x.size());
  const std::vector<double> weights =
      Centered(w, w_zero, w.dims()[0] == 0 ? 1 : w.size() / w.dims()[0]);
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  if (!sums.empty()) Convolve(problem, from.data(), weights.data(), sums.data());
  return sums;
}

void StoreI32(const std::vector<double>& sums, Tensor& y) {
  const auto to = y.MutableValues<std::int32_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    // i64 to i32 wraps modulo 2^32, as sums of 32 bits do. From double to i32, a sum beyond i32
    // would be undefined.
    to[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(sums[i]));
  }
}

std::vector<Tensor> EvalConvInteger(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferConvInteger, node, inputs);
  const Tensor& w = *inputs[1];
  StoreI32(ConvSums(node, *inputs[0], w, ZerosOf(node, InputAt(inputs, 2), 1),
                    ZerosOf(node, InputAt(inputs, 3), w.dims()[0]), outputs[0]),
           outputs[0]);
  return outputs;
}

/// Computes numpy.matmul of operands with at least two dimensions, in double.
Tensor Product(const Node& node, const Tensor& a, const Tensor& b,
               const std::vector<double>& a_zero, const std::vector<double>& b_zero) {
  if (a.dims().size() < 2 || b.dims().size() < 2) RejectNode(node, "needs matrices");
  Tensor left(DType::kF64, a.dims());
  // A zero point belongs to a row of A, whose elements are consecutive, or to a column of B.
  const std::vector<double> rows = Centered(a, a_zero, a.dims().back());
  std::copy(rows.begin(), rows.end(), left.MutableValues<double>().begin());
  Tensor right(DType::kF64, b.dims());
  const std::vector<double> columns = Centered(b, b_zero, 1);
  std::copy(columns.begin(), columns.end(), right.MutableValues<double>().begin());
  const Node product{.name = node.name, .op = "MatMul"};
  const std::vector<const Tensor*> operands = {&left, &right};
  return std::move(Ops().Get(product).eval(product, operands).front());
}

std::vector<ValueType> InferProduct(const InferInput& in, std::size_t b, DType dtype) {
  const Shape* left = ShapeOf(in, 0);
  const Shape* right = ShapeOf(in, b);
  if (left == nullptr || right == nullptr) return OneOutput(dtype, std::nullopt);
  if (left->size() < 2 || right->size() < 2) RejectNode(*in.node, "needs matrices");
  (void)MergeDims(*in.node, left->back(), (*right)[right->size() - 2]);
  Shape y = BroadcastShapes(*in.node, Shape(left->begin(), left->end() - 2),
                            Shape(right->begin(), right->end() - 2));
  y.push_back((*left)[left->size() - 2]);
  y.push_back(right->back());
  return OneOutput(dtype, std::move(y));
}

std::vector<ValueType> InferMatMulInteger(const InferInput& in) {
  RequireType(in, 0, {DType::kI8, DType::kU8});
  RequireType(in, 1, {DType::kI8, DType::kU8});
  return InferProduct(in, 1, DType::kI32);
}

std::vector<Tensor> EvalMatMulInteger(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMatMulInteger, node, inputs);
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[1];
  const Tensor sums =
      Product(node, a, b, ZerosOf(node, InputAt(inputs, 2), a.dims()[a.dims().size() - 2]),
              ZerosOf(node, InputAt(inputs, 3), b.dims().back()));
  const auto values = sums.Values<double>();
  StoreI32({values.begin(), values.end()}, outputs[0]);
  return outputs;
}

/// Multiplies sums by `scales` (one, or one per `inner` consecutive elements) and stores them as
/// 8-bit integers.
void Requantize(std::span<const double> sums, const std::vector<double>& scales, std::int64_t inner,
                std::int64_t zero, Tensor& y) {
  const QuantRange range = RangeOf(y.dtype());
  WithNumber(Node{}, y.dtype(), [&]<class T>() {
    const auto to = y.template MutableValues<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t at = i / static_cast<std::size_t>(inner) % scales.size();
      to[i] = static_cast<T>(QuantizeScaled(sums[i] * scales[at], zero, range));
    }
  });
}

/// Returns a_scale * b_scale / y_scale, for each entry of b_scale.
std::vector<double> Multipliers(const Node& node, const Tensor& a, const Tensor& b,
                                const Tensor& y) {
  if (a.size() != 1 || y.size() != 1) RejectNode(node, "has one scale for input and output");
  std::vector<double> scales;
  for (std::int64_t i = 0; i < b.size(); ++i) {
    scales.push_back(NumberAt(a, 0) * NumberAt(b, i) / NumberAt(y, 0));
  }
  return scales;
}

constexpr std::size_t kW = 3;
constexpr std::size_t kYScale = 6;
constexpr std::size_t kYZero = 7;
constexpr std::size_t kBias = 8;

std::vector<ValueType> InferQLinearConv(const InferInput& in) {
  for (const std::size_t i : {std::size_t{0}, kW, kYZero}) {
    RequireType(in, i, {DType::kI8, DType::kU8});
  }
  InferInput plain{.node = in.node, .types = {in.types[0], in.types[kW]}};
  return OneOutput(TypeOf(in, kYZero), ConvOutputShape(plain));
}

std::vector<Tensor> EvalQLinearConv(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferQLinearConv, node, inputs);
  const Tensor& w = *inputs[kW];
  Tensor& y = outputs[0];
  if (y.size() == 0) return outputs;
  std::vector<double> sums = ConvSums(node, *inputs[0], w, ZerosOf(node, inputs[2], 1),
                                      ZerosOf(node, inputs[5], w.dims()[0]), y);
  const std::int64_t plane = StridesOf(y.dims())[1];
  if (const Tensor* bias = InputAt(inputs, kBias); bias != nullptr) {
    if (bias->size() != y.dims()[1]) RejectNode(node, "the bias must have one entry a channel");
    for (std::int64_t i = 0; i < y.size(); ++i) {
      // QLinearConv-10: the bias has the scale x_scale * w_scale and no zero point, so it adds to
      // the sums.
      sums[static_cast<std::size_t>(i)] += NumberAt(*bias, i / plane % y.dims()[1]);
    }
  }
  Requantize(sums, Multipliers(node, *inputs[1], *inputs[4], *inputs[kYScale]), plane,
             static_cast<std::int64_t>(NumberAt(*inputs[kYZero], 0)), y);
  return outputs;
}

std::vector<ValueType> InferQLinearMatMul(const InferInput& in) {
  for (const std::size_t i : {std::size_t{0}, kW, kYZero}) {
    RequireType(in, i, {DType::kI8, DType::kU8});
  }
  return InferProduct(in, kW, TypeOf(in, kYZero));
}

std::vector<Tensor> EvalQLinearMatMul(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferQLinearMatMul, node, inputs);
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[kW];
  if (inputs[1]->size() != 1) RejectNode(node, "scales of single rows are not supported");
  const Tensor sums =
      Product(node, a, b, ZerosOf(node, inputs[2], 1), ZerosOf(node, inputs[5], b.dims().back()));
  Requantize(sums.Values<double>(), Multipliers(node, *inputs[1], *inputs[4], *inputs[kYScale]), 1,
             static_cast<std::int64_t>(NumberAt(*inputs[kYZero], 0)), outputs[0]);
  return outputs;
}

std::vector<ValueType> InferDynamicQuantize(const InferInput& in) {
  RequireType(in, 0, {DType::kF32});
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = DType::kU8;
  types.push_back({.dtype = DType::kF32, .shape = Shape{}});
  types.push_back({.dtype = DType::kU8, .shape = Shape{}});
  return types;
}

std::vector<Tensor> EvalDynamicQuantize(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferDynamicQuantize, node, inputs);
  const auto x = inputs[0]->Values<float>();
  float least = 0.0F;  // ONNX extends the range to include 0
  float most = 0.0F;
  for (const float value : x) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // DynamicQuantizeLinear-11 computes the scale and the quotients below in f32, as X is.
  const float scale = (most - least) / 255.0F;
  const QuantRange range = RangeOf(DType::kU8);
  const std::int64_t zero =
      // X of zeros alone, or without an element, has no range: all its quantized values are 0.
      scale == 0.0F ? 0 : QuantizeScaled(static_cast<double>(-least / scale), 0, range);
  const auto y = outputs[0].MutableValues<std::uint8_t>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double scaled = scale == 0.0F ? 0.0 : static_cast<double>(x[i] / scale);
    y[i] = static_cast<std::uint8_t>(QuantizeScaled(scaled, zero, range));
  }
  outputs[1].MutableValues<float>()[0] = scale;
  outputs[2].MutableValues<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
  return outputs;
}

}  // namespace

void RegisterIntegerOps(OpRegistry& ops) {
  ops.Add({.name = "BitShift",
           .inputs = {2, 2},
           .attrs = {{.name = "direction", .otherwise = std::string(), .required = true}},
           .infer = InferBitShift,
           .eval = EvalBitShift,
           .flops = OneFlopEach});
  ops.Add({.name = "Mod",
           .inputs = {2, 2},
           .attrs = {{.name = "fmod", .otherwise = std::int64_t{0}}},
           .infer = InferMod,
           .eval = ViaF32(EvalMod),
           .flops = OneFlopEach});
  ops.Add({.name = "ConvInteger",
           .inputs = {2, 4},
           .attrs = WindowAttrs(WindowKind::kConv),
           .infer = InferConvInteger,
           .eval = EvalConvInteger});
  ops.Add({.name = "MatMulInteger",
           .inputs = {2, 4},
           .infer = InferMatMulInteger,
           .eval = EvalMatMulInteger});
  ops.Add({.name = "QLinearConv",
           .inputs = {8, 9},
           .attrs = WindowAttrs(WindowKind::kConv),
           .infer = InferQLinearConv,
           .eval = EvalQLinearConv});
  ops.Add({.name = "QLinearMatMul",
           .inputs = {8, 8},
           .infer = InferQLinearMatMul,
           .eval = EvalQLinearMatMul});
  ops.Add({.name = "DynamicQuantizeLinear",
           .inputs = {1, 1},
           .min_outputs = 3,
           .max_outputs = 3,
           .infer = InferDynamicQuantize,
           .eval = EvalDynamicQuantize});
}

}  // namespace msc
