#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// Source: ONNX operator page Conv-11.

namespace msc {
namespace {

std::vector<ValueType> InferConv(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const DType dtype = RequireSameType(in, 0, 1);
  if (HasInput(in, 2)) RequireSameType(in, 0, 2);
  return OneOutput(dtype, ConvOutputShape(in));
}

std::vector<Tensor> EvalConv(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferConv, node, inputs);
  const ConvProblem problem = ConvProblemOf(node, *inputs[0], *inputs[1], outputs[0]);
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const std::span<T> y = outputs[0].template MutableValues<T>();
    Convolve(problem, inputs[0]->Values<T>().data(), inputs[1]->Values<T>().data(), y.data());
    const Tensor* bias = InputAt(inputs, 2);
    if (bias == nullptr || y.empty()) return;
    const auto b = bias->Values<T>();
    const std::size_t plane =
        y.size() / static_cast<std::size_t>(problem.batch * problem.out_channels);
    // Y is [batch, channels, plane], so the channel of an element is its plane's number modulo the
    // channels.
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i / plane % b.size()];
  });
  return outputs;
}

}  // namespace

void RegisterConvOps(OpRegistry& ops) {
  ops.Add({.name = "Conv",
           .inputs = {2, 3},
           .attrs = WindowAttrs(WindowKind::kConv),
           .infer = InferConv,
           .eval = ViaF32(EvalConv),
           .flops = ConvFlops});
}

}  // namespace msc
