#include "gym/app/bench_qdq.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace msc::gym {
namespace {

bool IsLayer(const Node& node) {
  return node.Is("Conv") || node.Is("Gemm") || node.Is("MatMul");
}

bool IsInt8Layer(const Graph& graph, NodeId id) {
  if (id == kNoNode) return false;
  const Node& node = graph.node(id);
  if (!IsLayer(node)) return false;
  const NodeId weights = graph.producer(node.inputs[1]);
  return weights != kNoNode && graph.node(weights).Is("DequantizeLinear");
}

/// Returns the scale by which `value` is quantized, also behind one or two activations; null if it
/// is not quantized.
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
                 .inputs = std::move(inputs),
                 .outputs = {made}},
                before);
  return made;
}

/// Returns whether ONNX Runtime 1.30 has a QLinear kernel for the node on CPUs; layers are not
/// listed.
bool HasIntegerKernel(const Node& node) {
  constexpr std::array kOps = {"Add",       "AveragePool", "Concat", "GlobalAveragePool",
                               "LeakyRelu", "Mul",         "Sigmoid"};
  return std::any_of(kOps.begin(), kOps.end(), [&](const char* op) { return node.Is(op); });
}

bool IsDequantized(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  return producer != kNoNode && graph.node(producer).Is("DequantizeLinear");
}

/// Returns the readers of `value` that take floats. Empty if ONNX Runtime fuses them up to a
/// QuantizeLinear.
std::vector<Use> FloatReaders(const Graph& graph, ValueId value) {
  if (ScaleBehind(graph, value) != nullptr) return {};
  std::vector<Use> readers = graph.uses(value);
  std::erase_if(readers, [&](const Use& use) { return graph.node(use.node).Is("QuantizeLinear"); });
  return readers;
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

std::vector<std::string> ValuesBetween(const Graph& canonical) {
  std::vector<std::string> names;
  for (const NodeId id : canonical.order()) {
    const Node& node = canonical.node(id);
    const ValueId value = node.outputs[0];
    if (!IsLayer(node) && !HasIntegerKernel(node)) continue;
    if (canonical.type(value).dtype == DType::kF32) names.push_back(canonical.value(value).name);
  }
  return names;
}

void QuantizeBetween(const std::map<std::string, TensorScale>& scales, Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  for (std::size_t at = 0; at + 1 < order.size(); ++at) {
    const NodeId id = order[at];
    const NodeId before = order[at + 1];
    const Node& node = graph.node(id);
    const bool integer = IsInt8Layer(graph, id) ||
                         (HasIntegerKernel(node) &&
                          std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return IsDequantized(graph, input); }));
    if (!integer) continue;
    const ValueId value = node.outputs[0];
    const std::string name = graph.value(value).name;
    const auto scale = scales.find(name);
    const std::vector<Use> readers = FloatReaders(graph, value);
    if (scale == scales.end() || readers.empty()) continue;
    const DType dtype = scale->second.dtype == "u8" ? DType::kU8 : DType::kI8;
    Tensor step(DType::kF32, {});
    step.MutableValues<float>().front() = static_cast<float>(scale->second.scale);
    Tensor zero(dtype, {});
    if (dtype == DType::kU8) {
      zero.MutableValues<std::uint8_t>().front() =
          static_cast<std::uint8_t>(scale->second.zero_point);
    } else {
      zero.MutableValues<std::int8_t>().front() =
          static_cast<std::int8_t>(scale->second.zero_point);
    }
    const ValueId s = graph.AddConstant(graph.FreeValueName(name + "_between_scale"), step);
    const ValueId z = graph.AddConstant(graph.FreeValueName(name + "_between_zero"), zero);
    const ValueId q = AddNode(graph, before, "QuantizeLinear", dtype, {value, s, z});
    const ValueId d = AddNode(graph, before, "DequantizeLinear", DType::kF32, {q, s, z});
    for (const Use& use : readers) graph.SetInput(use.node, use.index, d);
  }
}

}  // namespace msc::gym
