#include "compiler/compress/distill/torch/parameters.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>

#include "compiler/compress/distill/torch/run.h"

namespace msc::detail {
namespace {

using at::Tensor;

constexpr double kBeta1 = 0.9;  // Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

/// Returns LSQ's factor for the gradient of the steps of weights.
double FactorOf(const TrainProgram& program, int slot) {
  for (const TrainOp& op : program.ops) {
    if (op.op != "QuantizeWeights" || op.in[1] != slot) continue;
    return 1 / std::sqrt(static_cast<double>(op.ints[3]) * static_cast<double>(op.ints[2]));
  }
  return 1;
}

void Adam(std::int64_t step, double rate, const Tensor& gradient, Parameter& parameter) {
  const auto t = static_cast<double>(step);
  parameter.first.mul_(kBeta1).add_(gradient, 1 - kBeta1);
  parameter.second.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
  const Tensor spread = (parameter.second / (1 - std::pow(kBeta2, t))).sqrt_().add_(kEpsilon);
  parameter.leaf.addcdiv_(parameter.first, spread, -rate / (1 - std::pow(kBeta1, t)));
}

void Sgd(double momentum, double rate, const Tensor& gradient, Parameter& parameter) {
  parameter.first.mul_(momentum).add_(gradient);
  parameter.leaf.add_(gradient + parameter.first * momentum, -rate);
}

}  // namespace

Tensor Parameter::Value(const Tensor& trained) const {
  return kind == ParameterKind::kWeight ? trained : at::exp(trained);
}

std::vector<Parameter> MakeParameters(const TrainProgram& program, const TrainSettings& settings,
                                      const TrainState& state) {
  const bool fresh = state.parameters.empty();
  std::vector<Parameter> made;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const TrainConstant& constant = program.constants[program.parameters[i].constant];
    Parameter parameter;
    parameter.kind = program.parameters[i].kind;
    parameter.slot = constant.slot;
    const bool is_weight = parameter.kind == ParameterKind::kWeight;
    std::vector<float> values = fresh ? constant.values : state.parameters[i];
    if (fresh && !is_weight) {
      for (float& value : values) value = std::log(value);
    }
    parameter.leaf = CopyOf(values.data(), constant.dims);
    const auto restore = [&](const std::vector<std::vector<float>>& from) {
      return from.empty() ? at::zeros_like(parameter.leaf) : CopyOf(from[i].data(), constant.dims);
    };
    parameter.first = restore(state.first);
    if (settings.optimizer == "adam") parameter.second = restore(state.second);
    if (settings.keep_zeros && is_weight && constant.dims.size() > 1) {
      // The mask is that of the initial values, also when training continues.
      parameter.mask = CopyOf(constant.values.data(), constant.dims).ne(0);
    }
    if (parameter.kind == ParameterKind::kWeightStep) {
      parameter.factor = FactorOf(program, constant.slot);
    }
    parameter.leaf.set_requires_grad(true);
    made.push_back(std::move(parameter));
  }
  return made;
}

void Update(const TrainSettings& settings, std::int64_t step, double rate,
            std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<Tensor> gradients;
  double square = 0;
  for (const Parameter& parameter : parameters) {
    Tensor& gradient = parameter.leaf.mutable_grad();
    gradients.push_back(gradient.defined() ? gradient * parameter.factor : Tensor());
    if (settings.clip > 0 && gradient.defined()) {
      square += at::sum(gradients.back() * gradients.back()).item<double>();
    }
    gradient = Tensor();
  }
  const double norm = std::sqrt(square);
  const double shrink = settings.clip > 0 && norm > settings.clip ? settings.clip / norm : 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i].defined()) continue;  // layer-wise: no loss depends on it
    Tensor& leaf = parameters[i].leaf;
    const bool decays =
        parameters[i].kind == ParameterKind::kWeight && leaf.dim() > 1 && settings.decay > 0;
    const Tensor gradient = shrink == 1 ? gradients[i] : gradients[i] * shrink;
    if (settings.optimizer == "adam") {
      if (decays) leaf.mul_(1 - rate * settings.decay);
      Adam(step, rate, gradient, parameters[i]);
    } else {
      Sgd(settings.momentum, rate, decays ? gradient + leaf * settings.decay : gradient,
          parameters[i]);
    }
    if (parameters[i].mask.defined()) leaf.mul_(parameters[i].mask);
  }
}

void Save(const std::vector<Parameter>& parameters, TrainState& state) {
  const auto copy = [&](const Tensor Parameter::*part) {
    std::vector<std::vector<float>> lists;
    for (const Parameter& parameter : parameters) lists.push_back(ValuesOf(parameter.*part));
    return lists;
  };
  state.parameters = copy(&Parameter::leaf);
  state.first = copy(&Parameter::first);
  if (!parameters.empty() && parameters[0].second.defined())
    state.second = copy(&Parameter::second);
}

}  // namespace msc::detail
