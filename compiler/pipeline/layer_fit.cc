#include "compiler/pipeline/layer_fit.h"

#include <algorithm>

#include "compiler/compress/prune/linear_form.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

bool IsBias(const Graph& graph, ValueId value, std::int64_t channels) {
  const TensorPtr tensor = graph.constant(value);
  return tensor != nullptr && tensor->dtype() == DType::kF32 && tensor->size() == channels;
}

}  // namespace

std::optional<LayerFit> MakeLayerFit(const Graph& graph, std::size_t number,
                                     const WeightedLayer& layer,
                                     std::span<const LayerChain> chains) {
  const auto form = ReadLinearForm(graph, layer);
  if (!form) return std::nullopt;
  const auto chain = std::find_if(chains.begin(), chains.end(), [&](const LayerChain& each) {
    return each.producer == layer.node;
  });
  const bool has_chain = chain != chains.end();
  const Node& node = graph.node(layer.node);
  LayerFit fit{.number = number, .layer = layer};
  const std::int64_t channels = form->groups * form->outputs;
  // The target lies behind the bias and the residual, as both are added to what the weights
  // compute.
  ValueId target = node.outputs.at(0);
  if (node.HasInput(2)) {
    if (!IsBias(graph, node.inputs[2], channels)) return std::nullopt;
    fit.bias_node = layer.node;
    fit.bias_input = 2;
  } else if (has_chain && chain->bias_add != kNoNode) {
    const Node& add = graph.node(chain->bias_add);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!IsBias(graph, add.inputs[i], channels)) continue;
      fit.bias_node = chain->bias_add;
      fit.bias_input = i;
    }
    if (fit.bias_node == kNoNode) return std::nullopt;
    target = add.outputs.at(0);
  }
  if (has_chain && chain->residual_add != kNoNode) {
    const Node& add = graph.node(chain->residual_add);
    const ValueId residual = add.inputs[chain->residual_input];
    // A residual that is broadcast cannot be subtracted from the wanted outputs element by element.
    if (SurelySameShape(graph.type(residual), graph.type(target))) {
      fit.residual = graph.value(residual).name;
      fit.residual_add = chain->residual_add;
      fit.residual_input = chain->residual_input;
      target = add.outputs.at(0);
    }
  }
  fit.target = graph.value(target).name;
  return fit;
}

}  // namespace msc
