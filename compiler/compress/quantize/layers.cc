#include <utility>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/storage.h"
#include "compiler/passes/chain.h"

namespace msc {
namespace {

/// See QuantizableLayer::inner.
std::string InnerValue(const Graph& graph, const LayerChain& chain) {
  if (!graph.node(chain.producer).Is("Conv")) return "";
  const std::string& op = chain.activation.op;
  const bool bounds = op.empty() || op == "Relu" || op == "Clip";
  if (chain.residual_add == kNoNode && bounds) return "";
  const NodeId last = chain.bias_add == kNoNode ? chain.producer : chain.bias_add;
  return graph.value(graph.node(last).outputs.front()).name;
}

}  // namespace

std::vector<QuantizableLayer> FindQuantizableLayers(const Graph& graph) {
  std::vector<QuantizableLayer> layers;
  for (const LayerChain& chain : FloatLayerChains(graph)) {
    const Node& node = graph.node(chain.producer);
    QuantizableLayer layer;
    layer.name = node.name;
    layer.op = node.op;
    layer.input = graph.value(node.inputs[0]).name;
    layer.output = graph.value(chain.output).name;
    if (chain.residual_add != kNoNode) {
      const ValueId residual = graph.node(chain.residual_add).inputs[chain.residual_input];
      layer.residual = graph.value(residual).name;
    }
    layer.inner = InnerValue(graph, chain);
    layer.allowed = {Precision::kF32, Precision::kBF16, Precision::kInt8};
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::map<std::string, TensorScale> ScalesNeeded(std::span<const QuantizableLayer> layers,
                                                const PrecisionByLayer& precisions,
                                                const std::map<std::string, TensorScale>& scales) {
  std::map<std::string, TensorScale> needed;
  for (const QuantizableLayer& layer : layers) {
    const auto precision = precisions.find(layer.name);
    if (precision == precisions.end() || precision->second != Precision::kInt8) continue;
    for (const std::string& tensor : {layer.input, layer.output, layer.residual, layer.inner}) {
      const auto it = scales.find(tensor);
      if (it != scales.end()) needed.insert(*it);
    }
  }
  return needed;
}

Graph WithOutputs(const Graph& graph, std::span<const std::string> tensors) {
  Graph copy = graph;
  for (const std::string& name : tensors) {
    const ValueId id = copy.FindValue(name);
    if (id == kNoValue) throw UserError("graph '" + graph.name() + "' has no value '" + name + "'");
    if (!copy.IsOutput(id)) copy.AddOutput(id);
  }
  return copy;
}

}  // namespace msc
