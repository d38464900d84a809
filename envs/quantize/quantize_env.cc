#include "envs/quantize/quantize_env.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/no_layers.h"
#include "compiler/ops/op.h"
#include "envs/quantize/quantize_choices.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Quantize-v0";

double Clamp01(double value) {
  return std::clamp(value, 0.0, 1.0);
}

class QuantizeProblem final : public StrategyProblem {
 public:
  explicit QuantizeProblem(const QuantizeContext& context)
      : StrategyProblem(kId, context), context_(context), choices_(context) {
    if (choices_.layers().empty()) throw UserError(WhyNoQuantizableLayers(*context.graph));
  }

 private:
  [[nodiscard]] gym::PriorKnowledge OwnPrior() const override {
    return {.features = choices_.Features(*context().graph),
            .relevance = choices_.Work(*context().graph)};
  }

  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return choices_.decisions();
  }

  [[nodiscard]] Strategy DoStrategyOf(const gym::Assignment& assignment) const override {
    return choices_.StrategyOf(context_, assignment, Undecided().model_hash);
  }

  [[nodiscard]] std::optional<Strategy> NarrowestStrategy() const override {
    Strategy strategy = Undecided();
    strategy.quantize = choices_.LeastPlan();
    return strategy;
  }

  [[nodiscard]] std::string Meaning() const override { return choices_.Meaning(context_); }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, gym::Assignment>> anchors;
    for (const LayerChoice& choice : choices_.Anchors()) {
      anchors.emplace_back(ChoiceName(choice), choices_.Uniform(choice));
    }
    return anchors;
  }

  QuantizeContext context_;
  QuantizeChoices choices_;
};

}  // namespace

std::vector<QuantizableLayer> OfferedLayers(const QuantizeContext& context) {
  std::vector<QuantizableLayer> layers = FindQuantizableLayers(*context.graph);
  for (QuantizableLayer& layer : layers) {
    const auto unsupported = context.unsupported.find(layer.name);
    if (unsupported == context.unsupported.end()) continue;
    std::erase_if(layer.allowed, [&](Precision precision) {
      const auto& all = unsupported->second;
      // f32 remains, so that every layer has a choice.
      return precision != Precision::kF32 &&
             std::find(all.begin(), all.end(), precision) != all.end();
    });
  }
  return layers;
}

Strategy MakeQuantizeStrategy(const QuantizeContext& context,
                              const std::vector<QuantizableLayer>& layers,
                              const std::vector<Precision>& choices,
                              const std::string& model_hash) {
  Strategy strategy;
  strategy.model_hash = model_hash;
  strategy.target = context.target;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    strategy.quantize.layers[layers[i].name] = choices.at(i);
  }
  strategy.quantize.activations = ScalesNeeded(layers, strategy.quantize.layers, context.scales);
  return strategy;
}

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

std::unique_ptr<StrategyProblem> MakeQuantizeProblem(const QuantizeContext& context) {
  return std::make_unique<QuantizeProblem>(context);
}

}  // namespace msc::envs
