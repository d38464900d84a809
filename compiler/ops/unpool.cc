#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// MaxUnpool-11 (X [N, C, in...], I i64 [N, C, in...], shape i64 [rank]?) -> Y [N, C, out...]: puts
// the elements of X where I says and 0 elsewhere. I counts over the whole tensor that MaxPool read,
// whose sizes follow from those of X and from the window; `shape` gives Y more rows and columns
// behind these. Source: ONNX operator page MaxUnpool-11, and ONNX's reference implementation.

namespace msc {
namespace {

enum Input : std::size_t { kX, kIndices, kShape };

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

/// Returns the shape of the tensor that the pool read.
Shape PooledFrom(const Node& node, const Shape& x) {
  if (x.size() < 3 || x.size() > 5) {
    RejectNode(node, "X of shape " + ToString(x) + " must have 3 to 5 dimensions");
  }
  Dims spatial;
  for (std::size_t i = 2; i < x.size(); ++i) spatial.push_back(x[i].size());
  const Window window = ReadWindow(node, spatial, {});
  Shape shape(x.begin(), x.begin() + 2);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (spatial[i] < 0) {
      shape.emplace_back();
      continue;
    }
    // Sizes, strides and pads below 2^31 keep the products within 64 bits.
    if (spatial[i] >= kMaxExtent) RejectNode(node, "its output would be too large");
    const std::int64_t size = (spatial[i] - 1) * window.strides[i] + window.kernel[i] -
                              window.pads_begin[i] - window.pads_end[i];
    if (size < 0) RejectNode(node, "the padding is larger than its output");
    shape.emplace_back(size);
  }
  return shape;
}

std::vector<ValueType> InferMaxUnpool(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, kX, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireType(in, kIndices, {DType::kI64});
  RequireType(in, kShape, {DType::kI64});
  const Shape* x = ShapeOf(in, kX);
  const Shape* indices = ShapeOf(in, kIndices);
  if (x == nullptr) return OneOutput(TypeOf(in, kX), std::nullopt);
  Shape given = *x;
  if (indices != nullptr) {
    if (indices->size() != x->size()) {
      RejectNode(node, "X " + ToString(*x) + " and its indices " + ToString(*indices) +
                           " must have equal shapes");
    }
    for (std::size_t i = 0; i < x->size(); ++i) {
      given[i] = MergeDims(node, given[i], (*indices)[i]);
    }
  }
  Shape y = PooledFrom(node, given);
  if (!HasInput(in, kShape)) return OneOutput(TypeOf(in, kX), std::move(y));
  const auto wanted = ConstantInts(in, kShape);
  if (!wanted) return OneOutput(TypeOf(in, kX), Shape(x->size()));
  if (wanted->size() != x->size()) {
    RejectNode(node, "the output shape needs a size an axis of " + ToString(*x));
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t size = (*wanted)[i];
    // A negative size is also below the known one.
    if (size < 0 || size >= kMaxExtent || (y[i].known() && size < y[i].size())) {
      RejectNode(node,
                 "the output shape " + ToString(*wanted) + " must have room for " + ToString(y));
    }
    y[i] = size;
  }
  return OneOutput(TypeOf(in, kX), std::move(y));
}

std::vector<Tensor> EvalMaxUnpool(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMaxUnpool, node, inputs);
  const Tensor& x = *inputs[kX];
  const auto indices = inputs[kIndices]->Values<std::int64_t>();
  const Dims pooled = *StaticDims(PooledFrom(node, ToShape(x.dims())));
  const std::int64_t size = ElementCount(pooled);
  const Dims strides = StridesOf(outputs[0].dims());
  WithFloat(node, x.dtype(), [&]<class T>() {
    const auto from = x.Values<T>();
    const auto to = outputs[0].template MutableValues<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::int64_t rest = indices[i];
      if (rest < 0 || rest >= size) {
        RejectNode(node, "index " + std::to_string(rest) + " is outside of " + ToString(pooled));
      }
      std::int64_t at = 0;
      for (std::size_t axis = pooled.size(); axis > 0; --axis) {
        at += rest % pooled[axis - 1] * strides[axis - 1];
        rest /= pooled[axis - 1];
      }
      to[static_cast<std::size_t>(at)] = from[i];
    }
  });
  return outputs;
}

}  // namespace

void RegisterUnpoolOps(OpRegistry& ops) {
  const std::vector<std::int64_t> derived;  // by ReadWindow
  ops.Add({.name = "MaxUnpool",
           .inputs = {2, 3},
           .attrs = {{.name = "kernel_shape", .otherwise = derived, .required = true},
                     {.name = "pads", .otherwise = derived},
                     {.name = "strides", .otherwise = derived}},
           .infer = InferMaxUnpool,
           .eval = ViaF32(EvalMaxUnpool)});
}

}  // namespace msc
