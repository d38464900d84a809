#include <cstdint>

#include "compiler/ops/eval.h"
#include "compiler/ops/pool_kernel.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// Source: ONNX operator pages MaxPool-12, AveragePool-11, GlobalAveragePool-1, GlobalMaxPool-1;
// AveragePool-19 for dilations.

namespace msc {
namespace {

Dims Tail(const Dims& dims) {
  return {dims.begin() + 2, dims.end()};
}

PoolProblem ProblemOf(const Node& node, PoolKind kind, const Tensor& x, const Tensor& y) {
  return {.kind = kind,
          .planes = x.dims()[0] * x.dims()[1],
          .in = Tail(x.dims()),
          .out = Tail(y.dims()),
          .window = ReadWindow(node, Tail(x.dims()), {})};
}

std::vector<ValueType> InferMaxPool(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8});
  const std::optional<Shape> shape = PoolOutputShape(in);
  return {{.dtype = TypeOf(in, 0), .shape = shape}, {.dtype = DType::kI64, .shape = shape}};
}

/// Returns the position in a plane that is stored with its first axis innermost.
std::int64_t ColumnMajor(std::int64_t position, const Dims& plane) {
  std::int64_t stride = ElementCount(plane);
  std::int64_t at = 0;
  for (std::size_t axis = plane.size(); axis > 0; --axis) {
    stride /= plane[axis - 1];
    at += position % plane[axis - 1] * stride;
    position /= plane[axis - 1];
  }
  return at;
}

std::vector<Tensor> EvalMaxPool(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMaxPool, node, inputs);
  const PoolProblem problem = ProblemOf(node, PoolKind::kMax, *inputs[0], outputs[0]);
  WithNumber(node, inputs[0]->dtype(), [&]<class T>() {
    // Pool is instantiated for these types alone, the ones that MaxPool-12 allows.
    if constexpr (std::is_floating_point_v<T> || sizeof(T) == 1) {
      const std::span<std::int64_t> argmax = outputs[1].MutableValues<std::int64_t>();
      Pool(problem, inputs[0]->Values<T>().data(), outputs[0].template MutableValues<T>().data(),
           argmax.data());
      // ONNX indices count over the whole tensor, not over one plane.
      std::int64_t in_plane = 1;
      for (const std::int64_t size : problem.in) in_plane *= size;
      const std::size_t out_plane =
          argmax.size() / static_cast<std::size_t>(std::max<std::int64_t>(problem.planes, 1));
      const bool column_major = AttrOr(node, "storage_order", std::int64_t{0}) != 0;
      for (std::size_t i = 0; i < argmax.size(); ++i) {
        if (column_major) argmax[i] = ColumnMajor(argmax[i], problem.in);
        argmax[i] += static_cast<std::int64_t>(i / out_plane) * in_plane;
      }
    } else {
      RejectType(node, inputs[0]->dtype());
    }
  });
  return outputs;
}

std::vector<ValueType> InferAveragePool(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  return OneOutput(TypeOf(in, 0), PoolOutputShape(in));
}

std::vector<Tensor> EvalAveragePool(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferAveragePool, node, inputs);
  const bool with_padding = AttrOr(node, "count_include_pad", std::int64_t{0}) != 0;
  const PoolProblem problem =
      ProblemOf(node, with_padding ? PoolKind::kAverageWithPadding : PoolKind::kAverage, *inputs[0],
                outputs[0]);
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    Pool<T>(problem, inputs[0]->Values<T>().data(), outputs[0].template MutableValues<T>().data(),
            nullptr);
  });
  return outputs;
}

std::vector<ValueType> InferGlobalPool(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  return OneOutput(TypeOf(in, 0), GlobalPoolOutputShape(in));
}

template <PoolKind kKind>
std::vector<Tensor> EvalGlobalPool(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGlobalPool, node, inputs);
  const Dims& dims = inputs[0]->dims();
  const std::int64_t plane = ElementCount(Tail(dims));
  // The pool covers whole planes, so their axes can be seen as one.
  const PoolProblem problem{.kind = kKind,
                            .planes = dims[0] * dims[1],
                            .in = {plane},
                            .out = {1},
                            .window = WholeWindow(plane)};
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    Pool<T>(problem, inputs[0]->Values<T>().data(), outputs[0].template MutableValues<T>().data(),
            nullptr);
  });
  return outputs;
}

}  // namespace

void RegisterPoolOps(OpRegistry& ops) {
  ops.Add({.name = "MaxPool",
           .inputs = {1, 1},
           .max_outputs = 2,
           .attrs = WindowAttrs(WindowKind::kMaxPool),
           .infer = InferMaxPool,
           .eval = ViaF32(EvalMaxPool),
           .flops = PoolFlops});
  ops.Add({.name = "AveragePool",
           .inputs = {1, 1},
           .attrs = WindowAttrs(WindowKind::kAveragePool),
           .infer = InferAveragePool,
           .eval = ViaF32(EvalAveragePool),
           .flops = PoolFlops});
  ops.Add({.name = "GlobalAveragePool",
           .inputs = {1, 1},
           .infer = InferGlobalPool,
           .eval = ViaF32(EvalGlobalPool<PoolKind::kAverage>),
           .flops = PoolFlops});
  ops.Add({.name = "GlobalMaxPool",
           .inputs = {1, 1},
           .infer = InferGlobalPool,
           .eval = ViaF32(EvalGlobalPool<PoolKind::kMax>),
           .flops = PoolFlops});
}

}  // namespace msc
