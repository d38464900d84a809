#include "gym/app/layer_weights.h"

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"

namespace msc::gym {

std::map<std::string, std::int64_t> LayerWeights(const Graph& graph) {
  std::map<std::string, std::int64_t> weights;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) continue;
    ValueId value = node.inputs[1];
    const NodeId widening = graph.producer(value);
    if (widening != kNoNode && graph.node(widening).Is("DequantizeLinear")) {
      value = graph.node(widening).inputs[0];
    }
    const TensorPtr constant = graph.constant(value);
    if (constant != nullptr) weights[node.name] = ElementCount(constant->dims());
  }
  return weights;
}

}  // namespace msc::gym
