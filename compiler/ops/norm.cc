#include <cmath>
#include <string>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator page BatchNormalization-15, inference form.

namespace msc {
namespace {

std::vector<ValueType> InferBatchNorm(const InferInput& in) {
  const Node& node = *in.node;
  if (AttrOr(node, "training_mode", std::int64_t{0}) != 0) {
    RejectNode(node, "training_mode 1 is not supported: export the model for inference");
  }
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireRank(in, 0, 2);
  std::vector<ValueType> types = SameAsFirst(in);
  for (std::size_t i = 1; i < 5; ++i) {
    RequireSameType(in, 0, i);
    const Shape* list = ShapeOf(in, i);
    if (list == nullptr) continue;
    if (list->size() != 1) {
      RejectNode(node, "input " + std::to_string(i) + " must be a list, not " + ToString(*list));
    }
    if (types[0].shape) {
      (*types[0].shape)[1] = MergeDims(node, (*types[0].shape)[1], list->front());
    }
  }
  return types;
}

std::vector<Tensor> EvalBatchNorm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferBatchNorm, node, inputs);
  const auto epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const auto x = inputs[0]->Values<T>();
    const auto scale = inputs[1]->Values<T>();
    const auto bias = inputs[2]->Values<T>();
    const auto mean = inputs[3]->Values<T>();
    const auto variance = inputs[4]->Values<T>();
    const auto y = outputs[0].template MutableValues<T>();
    const Dims& dims = inputs[0]->dims();
    std::size_t plane = 1;
    for (std::size_t i = 2; i < dims.size(); ++i) plane *= static_cast<std::size_t>(dims[i]);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = i / plane % scale.size();
      // The factor is in double, so that the result rounds once.
      const double factor =
          static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
      y[i] = static_cast<T>((static_cast<double>(x[i]) - static_cast<double>(mean[c])) * factor +
                            static_cast<double>(bias[c]));
    }
  });
  return outputs;
}

}  // namespace

void RegisterNormOps(OpRegistry& ops) {
  ops.Add({.name = "BatchNormalization",
           .inputs = {5, 5},
           .attrs = {{.name = "epsilon", .otherwise = 1e-5F},
                     {.name = "momentum", .otherwise = 0.9F},
                     {.name = "training_mode", .otherwise = std::int64_t{0}}},
           .infer = InferBatchNorm,
           .eval = ViaF32(EvalBatchNorm),
           .flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                       // The factor of a channel is not counted: an element takes one product and
                       // one sum.
                       std::span<const ValueType> out) { return 2.0 * ElementsOf(out[0]); }});
}

}  // namespace msc
