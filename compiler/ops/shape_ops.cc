#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators over shapes: Shape-15, Size-13, ConstantOfShape-9, Range-27.

namespace msc {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

/// Returns the range [first, last) of axes that attributes start and end keep.
std::pair<std::int64_t, std::int64_t> KeptAxes(const Node& node, std::int64_t rank) {
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t first = clamp(AttrOr(node, "start", std::int64_t{0}));
  const std::int64_t last = clamp(AttrOr(node, "end", rank));
  return {first, std::max(first, last)};
}

std::vector<ValueType> InferShape(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(DType::kI64, Shape(1));
  const auto [first, last] = KeptAxes(*in.node, std::ssize(*x));
  return OneOutput(DType::kI64, Shape{last - first});
}

std::vector<Tensor> EvalShape(const Node& node, EvalInputs inputs) {
  const Dims& dims = inputs[0]->dims();
  const auto [first, last] = KeptAxes(node, std::ssize(dims));
  const std::span<const std::int64_t> kept(dims.data() + first,
                                           static_cast<std::size_t>(last - first));
  std::vector<Tensor> outputs;
  outputs.push_back(Tensor::From<std::int64_t>(DType::kI64, {last - first}, kept));
  return outputs;
}

std::vector<ValueType> InferSize(const InferInput& /*in*/) {
  return OneOutput(DType::kI64, Shape{});
}

std::vector<Tensor> EvalSize(const Node& /*node*/, EvalInputs inputs) {
  Tensor y(DType::kI64, {});
  y.MutableValues<std::int64_t>()[0] = inputs[0]->size();
  return {std::move(y)};
}

std::vector<ValueType> InferConstantOfShape(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 0, {DType::kI64});
  const auto value = AttrOr(node, "value", TensorPtr{});
  if (value != nullptr && value->size() != 1) {
    RejectNode(node, "attribute 'value' must be a tensor of one element");
  }
  const DType dtype = value == nullptr ? DType::kF32 : value->dtype();
  const auto dims = ConstantInts(in, 0);
  if (!dims) {
    const auto rank = ListLength(in, 0);
    return OneOutput(dtype, rank ? std::optional(Shape(*rank)) : std::nullopt);
  }
  for (const std::int64_t dim : *dims) {
    if (dim < 0) RejectNode(node, "cannot make a tensor of shape " + ToString(*dims));
  }
  const Shape shape = ToShape(*dims);
  (void)ProductOf(node, shape, 0, shape.size());
  return OneOutput(dtype, shape);
}

std::vector<Tensor> EvalConstantOfShape(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferConstantOfShape, node, inputs);
  const auto value = AttrOr(node, "value", TensorPtr{});
  if (value == nullptr) return outputs;
  const Dims& dims = outputs[0].dims();
  return {ReadStrided(*value, {.dims = dims, .strides = Dims(dims.size(), 0)})};
}

/// Counts the entries of start, start + delta, ... before limit. Rejects a delta of 0 and too many
/// entries.
std::int64_t RangeCount(const Node& node, const std::vector<TensorPtr>& bounds) {
  const double start = NumberAt(*bounds[0], 0);
  const double limit = NumberAt(*bounds[1], 0);
  const double delta = NumberAt(*bounds[2], 0);
  const double count = std::ceil((limit - start) / delta);
  if (delta == 0.0 || !(count < static_cast<double>(kMaxElements))) {
    RejectNode(node, "a range from " + std::to_string(start) + " to " + std::to_string(limit) +
                         " by " + std::to_string(delta) + " does not end");
  }
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::max(count, 0.0)), 0);
}

std::vector<ValueType> InferRange(const InferInput& in) {
  RequireType(
      in, 0,
      {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI16, DType::kI32, DType::kI64});
  const DType dtype = RequireSameType(in, 0, 1);
  RequireSameType(in, 0, 2);
  bool known = true;
  for (const TensorPtr& bound : in.constants) {
    known = known && bound != nullptr;
    if (bound != nullptr && bound->size() != 1) {
      RejectNode(*in.node, "start, limit and delta must be numbers");
    }
  }
  return OneOutput(dtype, Shape{known ? Dim(RangeCount(*in.node, in.constants)) : Dim()});
}

std::vector<Tensor> EvalRange(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferRange, node, inputs);
  WithNumber(node, outputs[0].dtype(), [&]<class T>() {
    const auto start = inputs[0]->Values<T>()[0];
    const auto delta = inputs[2]->Values<T>()[0];
    const auto y = outputs[0].template MutableValues<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        // Computes in unsigned integers: i * delta may exceed the range of T although the sum does
        // not.
        y[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                              i * static_cast<std::uint64_t>(delta));
      } else {
        y[i] = start + static_cast<T>(i) * delta;
      }
    }
  });
  return outputs;
}

}  // namespace

void RegisterShapeOps(OpRegistry& ops) {
  ops.Add({.name = "Shape",
           .inputs = {1, 1},
           .attrs = {{.name = "start", .otherwise = std::int64_t{0}},
                     {.name = "end", .otherwise = std::int64_t{0}}},
           .infer = InferShape,
           .eval = EvalShape});
  ops.Add({.name = "Size", .inputs = {1, 1}, .infer = InferSize, .eval = EvalSize});
  ops.Add({.name = "ConstantOfShape",
           .inputs = {1, 1},
           .attrs = {{.name = "value", .otherwise = TensorPtr{}}},
           .infer = InferConstantOfShape,
           .eval = EvalConstantOfShape});
  ops.Add({.name = "Range", .inputs = {3, 3}, .infer = InferRange, .eval = ViaF32(EvalRange)});
}

}  // namespace msc
