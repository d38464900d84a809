#include "gym/search/layers.h"

#include <algorithm>
#include <cstddef>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"

namespace msc::gym {
namespace {

std::string Join(const Dims& dims, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < dims.size(); ++i) {
    text += (text.empty() ? "" : "x") + std::to_string(dims[i]);
  }
  return text;
}

std::string ShapeText(const Graph& graph, const Node& node) {
  const auto dims_of = [&](std::size_t input) {
    return StaticDims(graph.type(node.inputs.at(input)).shape.value_or(Shape{})).value_or(Dims{});
  };
  std::string text = Join(dims_of(0), 0);
  const Dims weights = dims_of(1);
  if (weights.size() > 2) text += ", " + Join(weights, 2);
  const auto groups = AttrOr(node, "group", std::int64_t{1});
  if (groups > 1) text += ", " + std::to_string(groups) + " groups";
  return text;
}

}  // namespace

std::vector<LayerEntry> LayersOf(Graph graph) {
  InferTypes(graph, BatchBindings(graph, 1));
  std::vector<LayerEntry> layers;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    const Node& node = graph.node(graph.FindNode(layer.name));
    layers.push_back({.name = layer.name, .op = layer.op, .shape = ShapeText(graph, node)});
  }
  return layers;
}

std::map<std::string, double> KeptShares(const Graph& graph, const PrunePlan& plan) {
  const PruneSpace space(graph);
  const std::vector<bool> kept = KeptUnits(space, plan);
  std::map<std::string, double> shares;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const auto& units = space.Units(layer.channels, layer.channel_axis);
    const auto stay = std::count_if(units.begin(), units.end(), [&](std::int32_t unit) {
      return unit < 0 || kept[static_cast<std::size_t>(unit)];
    });
    shares[graph.node(layer.node).name] =
        units.empty() ? 1.0 : static_cast<double>(stay) / static_cast<double>(units.size());
  }
  return shares;
}

}  // namespace msc::gym
