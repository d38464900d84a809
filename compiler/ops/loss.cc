#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages NegativeLogLikelihoodLoss-13 and SoftmaxCrossEntropyLoss-13.
// X [N,C,d...], labels [N,d...], weights [C].

namespace msc {
namespace {

// The lowest i64 is never a class, so by default no label is ignored.
constexpr std::int64_t kNoLabel = std::numeric_limits<std::int64_t>::min();

std::string ReductionOf(const Node& node) {
  std::string reduction = AttrOr(node, "reduction", std::string("mean"));
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    RejectNode(node, "attribute 'reduction' cannot be '" + reduction + "'");
  }
  return reduction;
}

std::vector<ValueType> InferLoss(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireType(in, 1, {DType::kI32, DType::kI64});
  RequireRank(in, 0, 2);
  if (HasInput(in, 2)) RequireSameType(in, 0, 2);
  const Shape* x = ShapeOf(in, 0);
  const Shape* labels = ShapeOf(in, 1);
  if (x != nullptr && labels != nullptr) {
    if (labels->size() + 1 != x->size()) {
      RejectNode(node, "labels " + ToString(*labels) + " do not fit " + ToString(*x));
    }
    for (std::size_t i = 0; i < labels->size(); ++i) {
      // Labels have the axes of X except axis 1, the classes.
      (void)MergeDims(node, (*labels)[i], (*x)[i == 0 ? 0 : i + 1]);
    }
  }
  if (const Shape* weights = ShapeOf(in, 2); weights != nullptr) {
    if (weights->size() != 1) RejectNode(node, "weights must be a list");
    if (x != nullptr) (void)MergeDims(node, weights->front(), (*x)[1]);
  }
  ValueType loss{.dtype = TypeOf(in, 0), .shape = Shape{}};
  if (ReductionOf(node) == "none") {
    loss.shape = labels == nullptr ? std::nullopt : std::optional(*labels);
  }
  if (node.Is("NegativeLogLikelihoodLoss")) return {std::move(loss)};
  ValueType log_prob = SameAsFirst(in)[0];
  return {std::move(loss), std::move(log_prob)};
}

/// Computes -weight[label] * x[label] at every position and reduces as `reduction` says. `x` holds
/// log probabilities.
template <class T>
void LossInto(const Node& node, std::span<const T> x, EvalInputs inputs, Tensor& y) {
  const Dims& dims = inputs[0]->dims();
  const std::int64_t classes = dims[1];
  const std::int64_t plane = StridesOf(dims)[1];
  const std::int64_t ignored = AttrOr(node, "ignore_index", kNoLabel);
  const Tensor* weights = InputAt(inputs, 2);
  const std::string reduction = ReductionOf(node);
  const auto to = y.MutableValues<T>();
  double sum = 0.0;
  double total = 0.0;
  for (std::int64_t i = 0; i < inputs[1]->size(); ++i) {
    const std::int64_t label = IntegerAt(*inputs[1], i);
    // An ignored label adds neither to the sum nor to the divisor of "mean".
    if (label == ignored) continue;
    if (label < 0 || label >= classes) {
      RejectNode(node, "label " + std::to_string(label) + " is outside of " +
                           std::to_string(classes) + " classes");
    }
    const double weight = weights == nullptr ? 1.0 : NumberAt(*weights, label);
    const auto at = static_cast<std::size_t>((i / plane * classes + label) * plane + i % plane);
    const double loss = -weight * static_cast<double>(x[at]);
    if (reduction == "none") to[static_cast<std::size_t>(i)] = static_cast<T>(loss);
    sum += loss;
    total += weight;
  }
  // NegativeLogLikelihoodLoss-13: the mean is weighted, so it divides by the sum of weights.
  if (reduction == "mean") to[0] = static_cast<T>(sum / total);
  if (reduction == "sum") to[0] = static_cast<T>(sum);
}

std::vector<Tensor> EvalNll(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLoss, node, inputs);
  WithFloat(node, inputs[0]->dtype(),
            [&]<class T>() { LossInto<T>(node, inputs[0]->Values<T>(), inputs, outputs[0]); });
  return outputs;
}

std::vector<Tensor> EvalCrossEntropy(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLoss, node, inputs);
  const Node softmax{.name = node.name, .op = "LogSoftmax", .attrs = {{"axis", std::int64_t{1}}}};
  const std::vector<const Tensor*> logits = {inputs[0]};
  outputs[1] = std::move(Ops().Get(softmax).eval(softmax, logits).front());
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    LossInto<T>(node, outputs[1].template Values<T>(), inputs, outputs[0]);
  });
  return outputs;
}

OpDef LossDef(std::string name, std::size_t outputs, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {2, 3},
          .max_outputs = outputs,
          .attrs = {{.name = "ignore_index", .otherwise = kNoLabel},
                    {.name = "reduction", .otherwise = std::string("mean")}},
          .infer = InferLoss,
          .eval = ViaF32(std::move(eval)),
          .flops = [](const Node& /*node*/, std::span<const ValueType> in,
                      std::span<const ValueType> /*out*/) { return ElementsOf(in[0]); }};
}

}  // namespace

void RegisterLossOps(OpRegistry& ops) {
  ops.Add(LossDef("NegativeLogLikelihoodLoss", 1, EvalNll));
  ops.Add(LossDef("SoftmaxCrossEntropyLoss", 2, EvalCrossEntropy));
}

}  // namespace msc
