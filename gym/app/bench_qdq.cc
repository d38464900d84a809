#include "gym/app/bench_qdq.h"

#include <string>
#include <utility>
#include <vector>

namespace msc::gym {
namespace {

bool IsInt8Layer(const Graph& graph, NodeId id) {
  if (id == kNoNode) return false;
  const Node& node = graph.node(id);
  if (!node.Is("Conv") && !node.Is("Gemm") && !node.Is("MatMul")) return false;
  const NodeId weights = graph.producer(node.inputs[1]);
  return weights != kNoNode && graph.node(weights).Is("DequantizeLinear");
}

/// The scale by which `value` is quantized, behind an activation perhaps; null where it is not.
TensorPtr ScaleBehind(const Graph& graph, ValueId value) {
  for (int steps = 0; steps < 2; ++steps) {
    const std::vector<Use>& uses = graph.uses(value);
    if (uses.size() != 1) return nullptr;
    const Node& reader = graph.node(uses[0].node);
    if (reader.Is("QuantizeLinear")) return graph.constant(reader.inputs[1]);
    if (!reader.Is("Relu") && !reader.Is("Clip")) return nullptr;
    value = reader.outputs[0];
  }
  return nullptr;
}

ValueId AddNode(Graph& graph, NodeId before, const std::string& op, DType dtype,
                std::vector<ValueId> inputs) {
  ValueType type = graph.type(inputs[0]);
  type.dtype = dtype;
  const ValueId made =
      graph.AddValue(graph.FreeValueName(graph.value(inputs[0]).name + "_operand"), type);
  graph.AddNode({.name = graph.FreeNodeName(graph.value(made).name),
                 .op = op,
                 .domain = "",
                 .inputs = std::move(inputs),
                 .outputs = {made},
                 .captures = {},
                 .attrs = {}},
                before);
  return made;
}

}  // namespace

void QuantizeResidualOperands(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    if (!graph.node(id).Is("Add")) continue;
    const TensorPtr behind = ScaleBehind(graph, graph.node(id).outputs[0]);
    if (behind == nullptr || behind->size() != 1) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const ValueId value = graph.node(id).inputs[i];
      if (!IsInt8Layer(graph, graph.producer(value)) || graph.uses(value).size() != 1) continue;
      Tensor step(DType::kF32, {});
      step.MutableValues<float>().front() = 2 * behind->Values<float>().front();
      const std::string& name = graph.value(value).name;
      const ValueId s =
          graph.AddConstant(graph.FreeValueName(name + "_operand_scale"), std::move(step));
      const ValueId z =
          graph.AddConstant(graph.FreeValueName(name + "_operand_zero"), Tensor(DType::kI8, {}));
      const ValueId q = AddNode(graph, id, "QuantizeLinear", DType::kI8, {value, s, z});
      graph.SetInput(id, i, AddNode(graph, id, "DequantizeLinear", DType::kF32, {q, s, z}));
    }
  }
}

}  // namespace msc::gym
