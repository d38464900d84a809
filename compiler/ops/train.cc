#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// One step of an optimizer: (rate, steps done, tensors, gradients, states) -> tensors, states. The
// tensors, then their gradients, then each kind of state.
// Source: ONNX pages of domain ai.onnx.preview.training: Adagrad-1, Adam-1, Momentum-1.

namespace msc {
namespace {

constexpr std::size_t kFirst = 2;  // the first tensor

/// Returns the number of tensors; each has a gradient and `states` states.
std::size_t TensorsOf(const Node& node, std::size_t states) {
  const std::size_t each = 2 + states;
  const std::size_t count = node.inputs.size() < kFirst ? 0 : node.inputs.size() - kFirst;
  if (count == 0 || count % each != 0) {
    RejectNode(node, "needs " + std::to_string(each) + " inputs for every tensor");
  }
  return count / each;
}

std::vector<ValueType> InferStep(const InferInput& in, std::size_t states) {
  const std::size_t tensors = TensorsOf(*in.node, states);
  std::vector<ValueType> types;
  for (std::size_t kind = 0; kind < states + 2; ++kind) {
    if (kind == 1) continue;  // gradients are not given back
    for (std::size_t i = 0; i < tensors; ++i)
      types.push_back(in.types[kFirst + kind * tensors + i]);
  }
  return types;
}

/// One element: its value, gradient and states, which a step changes.
struct Element {
  double x = 0;
  double gradient = 0;
  double first = 0;   ///< state
  double second = 0;  ///< another
};

/// Calls `step` for every element of every tensor.
template <std::size_t kStates, class Step>
std::vector<Tensor> EachElement(const Node& node, EvalInputs inputs, const Step& step) {
  const std::size_t tensors = TensorsOf(node, kStates);
  const auto infer = [](const InferInput& in) { return InferStep(in, kStates); };
  std::vector<Tensor> outputs = NewOutputs(infer, node, inputs);
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto input = [&](std::size_t kind) -> const Tensor& {
      return *inputs[kFirst + kind * tensors + i];
    };
    WithFloat(node, input(0).dtype(), [&]<class T>() {
      for (std::size_t kind = 1; kind < kStates + 2; ++kind) {
        if (input(kind).dtype() != input(0).dtype() || input(kind).dims() != input(0).dims()) {
          RejectNode(node, "a gradient or state differs from its tensor in type or shape");
        }
      }
      const auto size = static_cast<std::size_t>(input(0).size());
      for (std::size_t at = 0; at < size; ++at) {
        Element element{.x = input(0).template Values<T>()[at],
                        .gradient = input(1).template Values<T>()[at],
                        .first = input(2).template Values<T>()[at]};
        if constexpr (kStates > 1) element.second = input(3).template Values<T>()[at];
        step(element);
        const auto put = [&](std::size_t kind, double value) {
          outputs[kind * tensors + i].template MutableValues<T>()[at] = static_cast<T>(value);
        };
        put(0, element.x);
        put(1, element.first);
        if constexpr (kStates > 1) put(2, element.second);
      }
    });
  }
  return outputs;
}

double Number(const Node& node, const char* name, float otherwise) {
  return static_cast<double>(AttrOr(node, name, otherwise));
}

std::vector<Tensor> EvalAdagrad(const Node& node, EvalInputs inputs) {
  const double steps = NumberAt(*inputs[1], 0);
  const double rate = NumberAt(*inputs[0], 0) / (1.0 + steps * Number(node, "decay_factor", 0.0F));
  const double epsilon = Number(node, "epsilon", 0.0F);
  const double decay = Number(node, "norm_coefficient", 0.0F);
  return EachElement<1>(node, inputs, [&](Element& e) {
    const double gradient = decay * e.x + e.gradient;
    e.first += gradient * gradient;
    e.x -= rate * gradient / (std::sqrt(e.first) + epsilon);
  });
}

std::vector<Tensor> EvalAdam(const Node& node, EvalInputs inputs) {
  const double steps = NumberAt(*inputs[1], 0);
  const double alpha = Number(node, "alpha", 0.9F);
  const double beta = Number(node, "beta", 0.999F);
  const double epsilon = Number(node, "epsilon", 0.0F);
  const double decay = Number(node, "norm_coefficient", 0.0F);
  const double after = Number(node, "norm_coefficient_post", 0.0F);
  double rate = NumberAt(*inputs[0], 0);
  if (steps > 0) rate *= std::sqrt(1.0 - std::pow(beta, steps)) / (1.0 - std::pow(alpha, steps));
  return EachElement<2>(node, inputs, [&](Element& e) {
    const double gradient = decay * e.x + e.gradient;
    e.first = alpha * e.first + (1.0 - alpha) * gradient;
    e.second = beta * e.second + (1.0 - beta) * gradient * gradient;
    e.x = (1.0 - after) * (e.x - rate * e.first / (std::sqrt(e.second) + epsilon));
  });
}

std::vector<Tensor> EvalMomentum(const Node& node, EvalInputs inputs) {
  const std::string mode = AttrOr(node, "mode", std::string());
  if (mode != "standard" && mode != "nesterov") {
    RejectNode(node, "'mode' must be standard or nesterov");
  }
  const double rate = NumberAt(*inputs[0], 0);
  const double alpha = Number(node, "alpha", 0.0F);
  const double beta = NumberAt(*inputs[1], 0) > 0 ? Number(node, "beta", 0.0F) : 1.0;
  const double decay = Number(node, "norm_coefficient", 0.0F);
  return EachElement<1>(node, inputs, [&](Element& e) {
    const double gradient = decay * e.x + e.gradient;
    e.first = alpha * e.first + beta * gradient;
    e.x -= rate * (mode == "nesterov" ? gradient + alpha * e.first : e.first);
  });
}

OpDef StepOp(const char* name, std::size_t states, std::vector<AttrSpec> attrs, EvalFn eval) {
  return {.name = name,
          .domain = "ai.onnx.preview.training",
          .inputs = {kFirst + 2 + states, OpDef::kVariadic},
          .max_outputs = OpDef::kVariadic,
          .attrs = std::move(attrs),
          .infer = [states](const InferInput& in) { return InferStep(in, states); },
          .eval = std::move(eval)};
}

}  // namespace

void RegisterTrainOps(OpRegistry& ops) {
  const auto number = [](const char* name, float otherwise, bool required = false) {
    return AttrSpec{.name = name, .otherwise = otherwise, .required = required};
  };
  ops.Add(StepOp("Adagrad", 1,
                 {number("decay_factor", 0), number("epsilon", 0), number("norm_coefficient", 0)},
                 EvalAdagrad));
  ops.Add(StepOp("Adam", 2,
                 {number("alpha", 0.9F), number("beta", 0.999F), number("epsilon", 0),
                  number("norm_coefficient", 0), number("norm_coefficient_post", 0)},
                 EvalAdam));
  ops.Add(StepOp("Momentum", 1,
                 {number("alpha", 0, true),
                  number("beta", 0, true),
                  {.name = "mode", .otherwise = std::string(), .required = true},
                  number("norm_coefficient", 0, true)},
                 EvalMomentum));
}

}  // namespace msc
