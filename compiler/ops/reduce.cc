#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages ReduceSum-13 (axes are an input), ReduceMean-13, ReduceMax-13,
// ReduceMin-13, ReduceProd-13 (axes are an attribute; as of set 18, an input that is not constant
// may give them instead), Softmax-13, LogSoftmax-13.

namespace msc {
namespace {

/// Returns the axes to reduce, ascending; nullopt if they are not constant.
std::optional<std::vector<std::size_t>> AxesOf(const InferInput& in, std::size_t rank) {
  const Node& node = *in.node;
  if (HasInput(in, 1) && in.constants[1] == nullptr) return std::nullopt;
  const auto axes =
      HasInput(in, 1) ? *ConstantInts(in, 1) : AttrOr(node, "axes", std::vector<std::int64_t>{});
  if (!axes.empty()) return NormalAxes(node, axes, rank);
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), std::size_t{0});
  // ReduceSum-13: an empty list of axes means all axes, unless this attribute makes it none.
  if (AttrOr(node, "noop_with_empty_axes", std::int64_t{0}) != 0) all.clear();
  return all;
}

bool KeepsDims(const Node& node) {
  return AttrOr(node, "keepdims", std::int64_t{1}) != 0;
}

std::vector<ValueType> ReducedType(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  const auto axes = AxesOf(in, x->size());
  if (!axes) {
    return OneOutput(TypeOf(in, 0),
                     KeepsDims(*in.node) ? std::optional(Shape(x->size())) : std::nullopt);
  }
  Shape y;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), i)) {
      y.push_back((*x)[i]);
    } else if (KeepsDims(*in.node)) {
      y.emplace_back(1);
    }
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<ValueType> InferReduce(const InferInput& in) {
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
               DType::kU32, DType::kU64});
  return ReducedType(in);
}

/// Infers ReduceMax and ReduceMin, which take all integers and, since set 20, booleans.
std::vector<ValueType> InferExtreme(const InferInput& in) {
  RequireType(
      in, 0,
      {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16, DType::kI32,
       DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kBool});
  return ReducedType(in);
}

/// Infers ReduceLogSumExp, whose start value, -infinity, no integer type can hold.
std::vector<ValueType> InferReduceOfFloats(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  return InferReduce(in);
}

struct SumStep {
  static constexpr double kStart = 0.0;
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      // Unsigned arithmetic wraps around; an overflow of signed integers is undefined.
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
  }
};
struct ProdStep {
  static constexpr double kStart = 1.0;
  template <class T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
  }
};
struct MaxStep {
  template <class T>
  static T Apply(T a, T b) {
    return a > b || a != a ? a : b;  // NOLINT(misc-redundant-expression): a != a is a NaN
  }
};
struct MinStep {
  template <class T>
  static T Apply(T a, T b) {
    return a < b || a != a ? a : b;  // NOLINT(misc-redundant-expression): a != a is a NaN
  }
};

struct SumAbsStep {
  static constexpr double kStart = 0.0;
  template <class T>
  static T Apply(T a, T b) {
    return SumStep::Apply<T>(a, b < T{0} ? static_cast<T>(T{0} - b) : b);
  }
};
struct SumSquareStep {
  static constexpr double kStart = 0.0;
  template <class T>
  static T Apply(T a, T b) {
    return SumStep::Apply<T>(a, ProdStep::Apply<T>(b, b));
  }
};
/// Step that computes log(exp(a) + exp(b)) without an overflow of exp.
struct LogAddStep {
  static constexpr double kStart = -std::numeric_limits<double>::infinity();
  template <class T>
  static T Apply(T a, T b) {
    // log(exp(a) + exp(b)) = most + log(1 + exp(-|a - b|)): exp takes a number of at most 0.
    const T most = MaxStep::Apply(a, b);  // a NaN if one is
    // The difference of two equal infinities would be NaN.
    if (std::isinf(static_cast<double>(most))) return most;
    return static_cast<T>(
        static_cast<double>(most) +
        std::log1p(std::exp(-std::abs(static_cast<double>(a) - static_cast<double>(b)))));
  }
};

/// Finishes ReduceMean, ReduceL2 and ReduceLogSum from the sum of `each` elements.
double Finished(const std::string& op, double sum, double each) {
  if (op == "ReduceMean") return sum / each;
  if (op == "ReduceL2") return std::sqrt(sum);
  return std::log(sum);
}

/// ReduceMax-20 and ReduceMin-20: the neutral element.
template <class T>
T ExtremeOfNothing(bool max) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) {
    return max ? -Limits::infinity() : Limits::infinity();
  } else {
    return max ? Limits::lowest() : Limits::max();
  }
}

/// Folds the elements of x into their outputs; floats in double, integers in their own type.
template <class Step, class T>
void ReduceInto(const Node& node, const Tensor& x, const Dims& kept, Tensor& y) {
  // Sums of f32 are kept in double, so that the order of the elements hardly matters; they round to
  // f32 once, at the end.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  const auto from = x.Values<T>();
  const auto to = y.MutableValues<T>();
  // No start value of Max and Min fits every type, so their first element begins the result.
  constexpr bool kHasStart = requires {
    Step::kStart;
  };
  std::vector<Sum> sums(to.size());
  std::vector<bool> begun(to.size(), kHasStart);
  if constexpr (kHasStart) std::fill(sums.begin(), sums.end(), static_cast<Sum>(Step::kStart));
  if (!kHasStart && from.empty()) {
    std::ranges::fill(sums, static_cast<Sum>(ExtremeOfNothing<T>(node.op == "ReduceMax")));
  }
  // X is read in memory order. Reduced axes have stride 0 in Y, so their elements meet in one sum.
  const Dims strides = BroadcastStrides(kept, x.dims());
  const std::int64_t row = x.dims().empty() ? 1 : x.dims().back();
  const std::int64_t step = x.dims().empty() ? 0 : strides.back();
  std::size_t at = 0;
  ForEachRow(x.dims(), {strides}, [&](std::span<const std::int64_t> offsets) {
    for (std::int64_t i = 0; i < row; ++i, ++at) {
      const auto place = static_cast<std::size_t>(offsets[0] + i * step);
      const auto value = static_cast<Sum>(from[at]);
      sums[place] = begun[place] ? Step::template Apply<Sum>(sums[place], value) : value;
      begun[place] = true;
    }
  });
  // All outputs reduce equally many elements.
  const double each =
      to.empty() ? 1.0 : static_cast<double>(from.size()) / static_cast<double>(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (node.op == "ReduceMean" || node.op == "ReduceL2" || node.op == "ReduceLogSum") {
      to[i] = static_cast<T>(Finished(node.op, static_cast<double>(sums[i]), each));
    } else {
      to[i] = static_cast<T>(sums[i]);
    }
  }
}

/// Returns the dims of x with size 1 along the reduced axes.
Dims KeptDims(const Node& node, EvalInputs inputs) {
  Dims kept = inputs[0]->dims();
  const auto axes = AxesOf(InferInputOf(node, inputs), kept.size());
  for (const std::size_t axis : *axes) kept[axis] = 1;
  return kept;
}

/// Computes ReduceMax or ReduceMin; of booleans, 1 is the larger one.
template <class Step>
std::vector<Tensor> EvalExtreme(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferExtreme, node, inputs);
  const Tensor& x = *inputs[0];
  const Dims kept = KeptDims(node, inputs);
  const bool truth = x.dtype() == DType::kBool;
  WithNumber(node, truth ? DType::kU8 : x.dtype(),
             [&]<class T>() { ReduceInto<Step, T>(node, x, kept, outputs[0]); });
  if (truth && x.size() == 0) {
    for (std::uint8_t& value : outputs[0].MutableValues<std::uint8_t>()) {
      value = std::min<std::uint8_t>(value, 1);
    }
  }
  return outputs;
}

template <class Step>
std::vector<Tensor> EvalReduce(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferReduce, node, inputs);
  const Tensor& x = *inputs[0];
  const Dims kept = KeptDims(node, inputs);
  WithSummand(node, x.dtype(), [&]<class T>() { ReduceInto<Step, T>(node, x, kept, outputs[0]); });
  return outputs;
}

double OneFlopAnInput(const Node& /*node*/, std::span<const ValueType> in,
                      std::span<const ValueType> /*out*/) {
  return ElementsOf(in[0]);
}

OpDef ReduceDef(std::string name, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {1, 2},
          .attrs = {{.name = "axes", .otherwise = std::vector<std::int64_t>{}},
                    {.name = "keepdims", .otherwise = std::int64_t{1}},
                    {.name = "noop_with_empty_axes", .otherwise = std::int64_t{0}}},
          .infer = InferReduce,
          .eval = ViaF32(std::move(eval)),
          .flops = OneFlopAnInput};
}

std::vector<ValueType> InferSoftmax(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const Shape* x = ShapeOf(in, 0);
  if (x != nullptr) {
    (void)NormalAxis(*in.node, AttrOr(*in.node, "axis", std::int64_t{-1}), x->size());
  }
  return SameAsFirst(in);
}

enum class Form : std::uint8_t { kPlain, kLog };

/// Computes one line of `count` values, `stride` apart. Subtracts the maximum so that exp cannot
/// overflow; sums in double.
template <class T>
void SoftmaxLine(const T* x, T* y, std::pair<std::int64_t, std::int64_t> count_stride, Form form) {
  const auto [count, stride] = count_stride;
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    greatest = std::max(greatest, static_cast<double>(x[i * stride]));
  }
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += std::exp(static_cast<double>(x[i * stride]) - greatest);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double shifted = static_cast<double>(x[i * stride]) - greatest;
    y[i * stride] =
        static_cast<T>(form == Form::kLog ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
}

template <Form kForm>
std::vector<Tensor> EvalSoftmax(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferSoftmax, node, inputs);
  const Tensor& x = *inputs[0];
  const std::size_t axis =
      NormalAxis(node, AttrOr(node, "axis", std::int64_t{-1}), x.dims().size());
  const std::int64_t count = x.dims()[axis];
  const std::int64_t stride = StridesOf(x.dims())[axis];
  if (x.size() == 0) return outputs;
  WithFloat(node, x.dtype(), [&]<class T>() {
    const T* from = x.Values<T>().data();
    T* to = outputs[0].template MutableValues<T>().data();
    // A line starts at one of `stride` positions in a block of stride * count elements.
    for (std::int64_t line = 0; line < x.size() / count; ++line) {
      const std::int64_t begin = line / stride * stride * count + line % stride;
      SoftmaxLine(from + begin, to + begin, {count, stride}, kForm);
    }
  });
  return outputs;
}

OpDef SoftmaxDef(std::string name, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {1, 1},
          .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}}},
          .infer = InferSoftmax,
          .eval = ViaF32(std::move(eval)),
          .flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                      std::span<const ValueType> out) { return 13.0 * ElementsOf(out[0]); }};
}

}  // namespace

void RegisterReduceOps(OpRegistry& ops) {
  ops.Add(ReduceDef("ReduceMean", EvalReduce<SumStep>));
  for (const bool max : {true, false}) {
    OpDef extreme = ReduceDef(max ? "ReduceMax" : "ReduceMin",
                              max ? EvalExtreme<MaxStep> : EvalExtreme<MinStep>);
    extreme.infer = InferExtreme;
    ops.Add(std::move(extreme));
  }
  ops.Add(ReduceDef("ReduceProd", EvalReduce<ProdStep>));
  ops.Add(ReduceDef("ReduceL1", EvalReduce<SumAbsStep>));
  ops.Add(ReduceDef("ReduceL2", EvalReduce<SumSquareStep>));
  ops.Add(ReduceDef("ReduceSumSquare", EvalReduce<SumSquareStep>));
  ops.Add(ReduceDef("ReduceLogSum", EvalReduce<SumStep>));
  OpDef log_sum_exp = ReduceDef("ReduceLogSumExp", EvalReduce<LogAddStep>);
  log_sum_exp.infer = InferReduceOfFloats;
  ops.Add(std::move(log_sum_exp));
  OpDef sum = ReduceDef("ReduceSum", EvalReduce<SumStep>);
  sum.inputs.most = 2;
  sum.attrs = {{.name = "keepdims", .otherwise = std::int64_t{1}},
               {.name = "noop_with_empty_axes", .otherwise = std::int64_t{0}}};
  ops.Add(std::move(sum));
  ops.Add(SoftmaxDef("Softmax", EvalSoftmax<Form::kPlain>));
  ops.Add(SoftmaxDef("LogSoftmax", EvalSoftmax<Form::kLog>));
}

}  // namespace msc
