#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Operators that compare or accumulate along one axis. Source: ONNX operator pages ArgMax-13,
// ArgMin-13, CumProd-26, CumSum-14, Hardmax-13, TopK-11.

namespace msc {
namespace {

/// The lines along one axis of a dense tensor.
struct Lines {
  std::int64_t count = 0;   ///< entries per line
  std::int64_t stride = 1;  ///< distance of two entries
  std::int64_t lines = 0;
  /// Returns the offset of the first entry of a line.
  [[nodiscard]] std::int64_t Begin(std::int64_t line) const {
    return line / stride * stride * count + line % stride;
  }
};

Lines LinesOf(const Dims& dims, std::size_t axis) {
  const std::int64_t count = dims[axis];
  const std::int64_t all = ElementCount(dims);
  return {.count = count, .stride = StridesOf(dims)[axis], .lines = count == 0 ? 0 : all / count};
}

std::size_t AxisOf(const Node& node, std::size_t rank, std::int64_t otherwise) {
  return NormalAxis(node, AttrOr(node, "axis", otherwise), rank);
}

std::vector<ValueType> InferArg(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(DType::kI64, std::nullopt);
  const std::size_t axis = AxisOf(*in.node, x->size(), 0);
  Shape y = *x;
  y[axis] = 1;
  if (AttrOr(*in.node, "keepdims", std::int64_t{1}) == 0) {
    y.erase(y.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return OneOutput(DType::kI64, std::move(y));
}

enum class Seek : std::uint8_t { kMost, kLeast };

template <Seek kSeek>
std::vector<Tensor> EvalArg(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferArg, node, inputs);
  const Tensor& x = *inputs[0];
  const Lines lines = LinesOf(x.dims(), AxisOf(node, x.dims().size(), 0));
  if (lines.count == 0 && outputs[0].size() > 0) {
    RejectNode(node, "cannot choose from the empty tensor " + ToString(x.dims()));
  }
  const bool last = AttrOr(node, "select_last_index", std::int64_t{0}) != 0;
  WithNumber(node, x.dtype(), [&]<class T>() {
    const T* from = x.Values<T>().data();
    const auto to = outputs[0].template MutableValues<std::int64_t>();
    for (std::int64_t line = 0; line < lines.lines; ++line) {
      const T* at = from + lines.Begin(line);
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < lines.count; ++i) {
        const T value = at[i * lines.stride];
        const T held = at[best * lines.stride];
        const bool better = kSeek == Seek::kMost ? value > held : value < held;
        if (better || (last && value == held)) best = i;
      }
      to[static_cast<std::size_t>(line)] = best;
    }
  });
  return outputs;
}

std::vector<ValueType> InferRunning(const InferInput& in) {
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
               DType::kU32, DType::kU64});
  const auto axis = ConstantInts(in, 1);
  if (axis && axis->size() != 1) RejectNode(*in.node, "the axis must be one number");
  if (const Shape* x = ShapeOf(in, 0); x != nullptr && axis) {
    (void)NormalAxis(*in.node, axis->front(), x->size());
  }
  return SameAsFirst(in);
}

enum class Collect : std::uint8_t { kSum, kProduct };

template <Collect kCollect>
std::vector<Tensor> EvalRunning(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferRunning, node, inputs);
  const Tensor& x = *inputs[0];
  const std::size_t axis = NormalAxis(node, IntegerAt(*inputs[1], 0), x.dims().size());
  const Lines lines = LinesOf(x.dims(), axis);
  const bool exclusive = AttrOr(node, "exclusive", std::int64_t{0}) != 0;
  const bool reverse = AttrOr(node, "reverse", std::int64_t{0}) != 0;
  WithNumber(node, x.dtype(), [&]<class T>() {
    using Total = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    const T* from = x.Values<T>().data();
    T* to = outputs[0].template MutableValues<T>().data();
    for (std::int64_t line = 0; line < lines.lines; ++line) {
      Total total = kCollect == Collect::kSum ? 0 : 1;
      for (std::int64_t i = 0; i < lines.count; ++i) {
        const std::int64_t step = reverse ? lines.count - 1 - i : i;
        const std::int64_t at = lines.Begin(line) + step * lines.stride;
        const Total before = total;
        if constexpr (kCollect == Collect::kSum) {
          total += static_cast<Total>(from[at]);
        } else {
          total *= static_cast<Total>(from[at]);
        }
        to[at] = static_cast<T>(exclusive ? before : total);
      }
    }
  });
  return outputs;
}

std::vector<ValueType> InferHardmax(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  if (const Shape* x = ShapeOf(in, 0); x != nullptr) (void)AxisOf(*in.node, x->size(), -1);
  return SameAsFirst(in);
}

std::vector<Tensor> EvalHardmax(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferHardmax, node, inputs);
  const Tensor& x = *inputs[0];
  const Lines lines = LinesOf(x.dims(), AxisOf(node, x.dims().size(), -1));
  WithFloat(node, x.dtype(), [&]<class T>() {
    const T* from = x.Values<T>().data();
    T* to = outputs[0].template MutableValues<T>().data();
    for (std::int64_t line = 0; line < lines.lines; ++line) {
      const std::int64_t begin = lines.Begin(line);
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < lines.count; ++i) {
        if (from[begin + i * lines.stride] > from[begin + best * lines.stride]) best = i;
      }
      to[begin + best * lines.stride] = T{1};
    }
  });
  return outputs;
}

std::vector<ValueType> InferTopK(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 1, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto k = ConstantInts(in, 1);
  std::optional<Shape> y;
  if (x != nullptr) {
    const std::size_t axis = AxisOf(node, x->size(), -1);
    y = *x;
    if (k) {
      const std::int64_t size = (*x)[axis].size();
      if (k->size() != 1 || k->front() < 0 || (size >= 0 && k->front() > size)) {
        RejectNode(node, "k " + ToString(*k) + " does not fit an axis of " + ToString(*x));
      }
      (*y)[axis] = k->front();
    } else {
      (*y)[axis] = Dim();
    }
  }
  return {{.dtype = TypeOf(in, 0), .shape = y}, {.dtype = DType::kI64, .shape = y}};
}

/// One number of a line, and its place there.
template <class T>
struct Ranked {
  T value;
  std::int64_t at;
};

/// Orders numbers, the larger ones first, with NaN as the largest, as NumPy does: a sort needs an
/// order of all of them. Equal ones stay in the order of their places, as ONNX requires.
template <class T, bool kLargestFirst>
struct Precedes {
  bool operator()(const Ranked<T>& a, const Ranked<T>& b) const {
    const T less = kLargestFirst ? b.value : a.value;
    const T more = kLargestFirst ? a.value : b.value;
    if (less < more) return true;
    if (more < less) return false;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(less) != std::isnan(more)) return std::isnan(more);
    }
    return a.at < b.at;
  }
};

/// Moves the first `count` to the front, in order.
template <class T, bool kLargestFirst>
void PutFirst(std::vector<Ranked<T>>& line, std::int64_t count) {
  const auto end = line.begin() + static_cast<std::ptrdiff_t>(count);
  const Precedes<T, kLargestFirst> precedes;
  if (end != line.end()) std::nth_element(line.begin(), end, line.end(), precedes);
  std::sort(line.begin(), end, precedes);
}

std::vector<Tensor> EvalTopK(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferTopK, node, inputs);
  const Tensor& x = *inputs[0];
  const std::size_t axis = AxisOf(node, x.dims().size(), -1);
  const Lines lines = LinesOf(x.dims(), axis);
  const Lines kept = LinesOf(outputs[0].dims(), axis);
  const bool largest = AttrOr(node, "largest", std::int64_t{1}) != 0;
  WithNumber(node, x.dtype(), [&]<class T>() {
    const T* from = x.Values<T>().data();
    T* to = outputs[0].template MutableValues<T>().data();
    const auto indices = outputs[1].MutableValues<std::int64_t>();
    std::vector<Ranked<T>> ranked(static_cast<std::size_t>(lines.count));
    for (std::int64_t line = 0; line < kept.lines; ++line) {
      const T* at = from + lines.Begin(line);
      for (std::int64_t i = 0; i < lines.count; ++i) {
        ranked[static_cast<std::size_t>(i)] = {at[i * lines.stride], i};
      }
      largest ? PutFirst<T, true>(ranked, kept.count) : PutFirst<T, false>(ranked, kept.count);
      for (std::int64_t i = 0; i < kept.count; ++i) {
        const std::int64_t target = kept.Begin(line) + i * kept.stride;
        const Ranked<T>& chosen = ranked[static_cast<std::size_t>(i)];
        to[target] = chosen.value;
        indices[static_cast<std::size_t>(target)] = chosen.at;
      }
    }
  });
  return outputs;
}

double OneFlopAnInput(const Node& /*node*/, std::span<const ValueType> in,
                      std::span<const ValueType> /*out*/) {
  return ElementsOf(in[0]);
}

OpDef RunningDef(std::string name, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {2, 2},
          .attrs = {{.name = "exclusive", .otherwise = std::int64_t{0}},
                    {.name = "reverse", .otherwise = std::int64_t{0}}},
          .infer = InferRunning,
          .eval = ViaF32(std::move(eval)),
          .flops = OneFlopAnInput};
}

OpDef ArgDef(std::string name, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {1, 1},
          .attrs = {{.name = "axis", .otherwise = std::int64_t{0}},
                    {.name = "keepdims", .otherwise = std::int64_t{1}},
                    {.name = "select_last_index", .otherwise = std::int64_t{0}}},
          .infer = InferArg,
          .eval = ViaF32(std::move(eval)),
          .flops = OneFlopAnInput};
}

}  // namespace

void RegisterArgOps(OpRegistry& ops) {
  ops.Add(ArgDef("ArgMax", EvalArg<Seek::kMost>));
  ops.Add(ArgDef("ArgMin", EvalArg<Seek::kLeast>));
  ops.Add(RunningDef("CumProd", EvalRunning<Collect::kProduct>));
  ops.Add(RunningDef("CumSum", EvalRunning<Collect::kSum>));
  ops.Add({.name = "Hardmax",
           .inputs = {1, 1},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}}},
           .infer = InferHardmax,
           .eval = ViaF32(EvalHardmax),
           .flops = OneFlopAnInput});
  ops.Add({.name = "TopK",
           .inputs = {2, 2},
           .min_outputs = 2,
           .max_outputs = 2,
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}},
                     {.name = "largest", .otherwise = std::int64_t{1}},
                     {.name = "sorted", .otherwise = std::int64_t{1}}},
           .infer = InferTopK,
           .eval = ViaF32(EvalTopK),
           .flops = OneFlopAnInput});
}

}  // namespace msc
