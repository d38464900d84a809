#include "envs/quantize/quantize_env.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "compiler/ops/op.h"
#include "cost/model/evaluator.h"
#include "gym/core/decision_env.h"
#include "gym/core/problem.h"

namespace msc::envs {
namespace {

double Clamp01(double value) {
  return std::clamp(value, 0.0, 1.0);
}

/// Static features of one layer, all in [0, 1]; see the header.
std::vector<std::vector<double>> LayerFeatures(const Graph& canonical,
                                               const std::vector<QuantizableLayer>& layers) {
  Graph graph = canonical;
  ShapeBindings one;
  for (const ValueId id : graph.inputs()) {
    for (const Dim& dim : graph.type(id).shape.value_or(Shape{})) {
      if (!dim.symbol().empty()) one[dim.symbol()] = 1;
    }
  }
  InferTypes(graph, one);
  std::vector<std::vector<double>> rows;
  double all_flops = 0;
  double all_weights = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const NodeId id = graph.FindNode(layers[i].name);
    const Node& node = graph.node(id);
    const auto dims =
        StaticDims(graph.type(node.inputs.at(1)).shape.value_or(Shape{})).value_or(Dims{});
    const double flops = CostOf(graph, id).flops;
    const auto weights = static_cast<double>(ElementCount(dims));
    all_flops += flops;
    all_weights += weights;
    const double outputs = dims.empty() ? 0 : static_cast<double>(dims[0]);
    const double inputs = dims.size() < 2 ? 0 : static_cast<double>(dims[1]);
    const double kernel = dims.size() < 3 ? 1 : static_cast<double>(dims[2]);
    rows.push_back({static_cast<double>(i) / static_cast<double>(layers.size()), flops, weights,
                    Clamp01(kernel / 8), Clamp01(inputs / 4096), Clamp01(outputs / 4096)});
  }
  for (auto& row : rows) {
    row[1] = all_flops > 0 ? row[1] / all_flops : 0;
    row[2] = all_weights > 0 ? row[2] / all_weights : 0;
  }
  return rows;
}

std::vector<gym::Decision> MakeDecisions(const std::vector<QuantizableLayer>& layers) {
  std::vector<gym::Decision> decisions;
  for (const QuantizableLayer& layer : layers) {
    gym::Decision decision{.name = layer.name, .choices = {}};
    for (const Precision precision : layer.allowed) decision.choices.emplace_back(Name(precision));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

class QuantizeProblem final : public gym::SearchProblem {
 public:
  explicit QuantizeProblem(const EnvContext& context)
      : context_(context),
        layers_(FindQuantizableLayers(*context.graph)),
        decisions_(MakeDecisions(layers_)),
        model_hash_(GraphHash(*context.graph)) {
    if (layers_.empty()) {
      throw UserError("the model has no Conv, Gemm or MatMul with constant weights to quantize");
    }
  }

  [[nodiscard]] const std::vector<QuantizableLayer>& layers() const { return layers_; }

  [[nodiscard]] Strategy StrategyOf(const gym::Assignment& assignment) const {
    std::vector<Precision> choices;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      choices.push_back(layers_[i].allowed.at(static_cast<std::size_t>(assignment.at(i))));
    }
    return MakeQuantizeStrategy(context_, layers_, choices, model_hash_);
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] std::vector<std::string> DoMetrics() const override {
    return MetricNames(context_.labels);
  }

  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    std::vector<cost::Candidate> candidates;
    for (const gym::Assignment& assignment : batch) {
      candidates.push_back({.strategy = StrategyOf(assignment)});
    }
    const auto report = [&](std::size_t index, const Result<cost::Outcome>& result) {
      done(index, ToEvaluation(result, StrategyHash(candidates.at(index).strategy)));
    };
    context_.evaluator->Evaluate(candidates, report, stop);
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const Precision wanted : {Precision::kInt8, Precision::kBF16, Precision::kF32}) {
      gym::Assignment assignment;
      bool any = false;
      for (const QuantizableLayer& layer : layers_) {
        const auto it = std::find(layer.allowed.begin(), layer.allowed.end(), wanted);
        any = any || it != layer.allowed.end();
        // A layer that does not allow it stays at its first choice, f32.
        assignment.push_back(
            it == layer.allowed.end() ? 0 : static_cast<std::int32_t>(it - layer.allowed.begin()));
      }
      if (any) anchors.emplace_back(std::string(Name(wanted)), std::move(assignment));
    }
    return anchors;
  }

  [[nodiscard]] std::size_t DoParallelism() const override {
    return context_.evaluator->parallelism();
  }

  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override {
    return ToJson(StrategyOf(assignment));
  }

  [[nodiscard]] std::string DoHash() const override {
    Sha256 hash;
    hash.Add("Quantize-v0\n" + model_hash_ + "\n" + context_.target + "\n");
    for (const gym::Decision& decision : decisions_) {
      hash.Add(decision.name + "\n");
      for (const std::string& choice : decision.choices) hash.Add(choice + "\n");
    }
    // The scales are part of what a choice of int8 means.
    Strategy all;
    all.quantize.activations = context_.scales;
    hash.Add(ToJson(all));
    return hash.Hex();
  }

  EnvContext context_;
  std::vector<QuantizableLayer> layers_;
  std::vector<gym::Decision> decisions_;
  std::string model_hash_;
};

/// -(latency ratio) - distill loss: both dimensionless and near 0 to 1; a failed candidate earns
/// less than any that ran.
double Reward(const gym::Evaluation& evaluation) {
  constexpr double kFailure = -10.0;
  if (evaluation.failure) return kFailure;
  return -evaluation.metrics.at(std::string(kLatency)) -
         evaluation.metrics.at(std::string(kDistillLoss));
}

}  // namespace

Strategy MakeQuantizeStrategy(const EnvContext& context,
                              const std::vector<QuantizableLayer>& layers,
                              const std::vector<Precision>& choices,
                              const std::string& model_hash) {
  Strategy strategy;
  strategy.model_hash = model_hash;
  strategy.target = context.target;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const QuantizableLayer& layer = layers[i];
    strategy.quantize.layers[layer.name] = std::string(Name(choices.at(i)));
    if (choices[i] != Precision::kInt8) continue;
    for (const std::string& tensor : {layer.input, layer.output, layer.residual}) {
      const auto it = context.scales.find(tensor);
      if (it != context.scales.end()) strategy.quantize.activations.insert(*it);
    }
  }
  return strategy;
}

std::unique_ptr<gym::Env> MakeQuantizeEnv(const EnvContext& context) {
  if (context.graph == nullptr || context.evaluator == nullptr) {
    throw UserError("Quantize-v0 needs a model and a way to measure; use it through a search");
  }
  auto problem = std::make_unique<QuantizeProblem>(context);
  auto features = LayerFeatures(*context.graph, problem->layers());
  return gym::MakeDecisionEnv(std::move(problem),
                              {.facts = {.id = "Quantize-v0", .nondeterministic = true},
                               .reward = Reward,
                               .features = std::move(features)});
}

}  // namespace msc::envs
