#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {

std::optional<Use> OnlyReader(const Graph& graph, ValueId value) {
  if (value == kNoValue) return std::nullopt;
  const std::vector<Use>& uses = graph.uses(value);
  if (uses.size() != 1 || graph.IsOutput(value) || IsCaptured(graph, value)) return std::nullopt;
  return uses.front();
}

bool IsCaptured(const Graph& graph, ValueId value) {
  if (value == kNoValue) return false;
  const std::vector<Use>& uses = graph.uses(value);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.index >= graph.node(use.node).inputs.size();
  });
}

bool Bypass(Graph& graph, NodeId node, ValueId value) {
  const ValueId made = graph.node(node).outputs.front();
  if (IsCaptured(graph, made)) return false;
  const std::string name = graph.value(made).name;
  const bool is_output = graph.IsOutput(made);
  if (is_output) {
    const bool renamable =
        graph.producer(value) != kNoNode && !graph.IsOutput(value) && !IsCaptured(graph, value);
    if (!renamable) return false;
  }
  graph.ReplaceUses(made, value);
  graph.RemoveNode(node);
  if (is_output) graph.RenameValue(value, name);
  return true;
}

NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with, ValueType type) {
  Check(!nodes.empty(), "a chain has nodes");
  const std::string node_name = graph.node(nodes.front()).name;
  const ValueId old = graph.node(nodes.back()).outputs.front();
  const std::string value_name = graph.value(old).name;
  const ValueId made = graph.AddValue(graph.FreeValueName(value_name), std::move(type));
  with.name = graph.FreeNodeName(node_name);
  with.outputs = {made};
  const NodeId id = graph.AddNode(std::move(with), nodes.back());
  graph.ReplaceUses(old, made);
  for (std::size_t i = nodes.size(); i > 0; --i) graph.RemoveNode(nodes[i - 1]);
  graph.RenameValue(made, value_name);
  graph.RenameNode(id, node_name);
  return id;
}

NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with) {
  ValueType type = graph.type(graph.node(nodes.back()).outputs.front());
  return ReplaceChain(graph, nodes, std::move(with), std::move(type));
}

void ReplaceConstant(Graph& graph, NodeId node, std::size_t index, Tensor tensor) {
  const ValueId old = graph.node(node).inputs.at(index);
  auto shared = std::make_shared<const Tensor>(std::move(tensor));
  if (OnlyReader(graph, old)) {
    graph.SetConstant(old, std::move(shared));
    return;
  }
  const std::string name = graph.FreeValueName(graph.value(old).name);
  graph.SetInput(node, index, graph.AddConstant(name, std::move(shared)));
}

Inserter::Inserter(Graph& graph, NodeId before)
    : graph_(graph), before_(before), name_(graph.node(before).name) {}

ValueId Inserter::Add(const char* op, std::vector<ValueId> inputs, AttrMap attrs) {
  return AddSeveral(op, std::move(inputs), 1, std::move(attrs)).front();
}

std::vector<ValueId> Inserter::AddSeveral(const char* op, std::vector<ValueId> inputs,
                                          std::size_t outputs, AttrMap attrs) {
  const std::string stem = name_ + "." + op;
  Node node{.name = graph_.FreeNodeName(stem),
            .op = op,
            .inputs = std::move(inputs),
            .attrs = std::move(attrs)};
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph_.AddValue(graph_.FreeValueName(stem), {}));
  }
  std::vector<ValueId> made = node.outputs;
  InferNodeTypes(graph_, graph_.AddNode(std::move(node), before_));
  return made;
}

ValueId Inserter::Int(std::int64_t value) {
  return graph_.AddConstant(graph_.FreeValueName(name_ + ".ints"),
                            Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&value, 1)));
}

ValueId Inserter::List(std::span<const std::int64_t> values) {
  return graph_.AddConstant(graph_.FreeValueName(name_ + ".ints"),
                            Tensor::From<std::int64_t>(DType::kI64, {std::ssize(values)}, values));
}

std::optional<std::vector<ValueId>> SequenceTensors(const Graph& graph, ValueId sequence) {
  const NodeId maker = sequence == kNoValue ? kNoNode : graph.producer(sequence);
  if (maker == kNoNode) return std::nullopt;
  const Node& node = graph.node(maker);
  if (node.Is("SequenceConstruct")) return node.inputs;
  if (node.Is("SequenceEmpty")) return std::vector<ValueId>();
  return std::nullopt;
}

bool Sweep(Graph& graph, const std::function<bool(NodeId)>& step) {
  bool changed = false;
  // Copy the order, because steps change it.
  const std::vector<NodeId> before = graph.order();
  for (const NodeId id : before) {
    if (graph.IsLive(id) && step(id)) changed = true;
  }
  return changed;
}

std::optional<std::size_t> Rank(const ValueType& type) {
  if (!type.shape) return std::nullopt;
  return type.shape->size();
}

bool SurelySameShape(const ValueType& a, const ValueType& b) {
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  for (std::size_t i = 0; i < a.shape->size(); ++i) {
    const Dim& dim = (*a.shape)[i];
    if (!dim.known() && dim.symbol().empty()) return false;
    if (!(dim == (*b.shape)[i])) return false;
  }
  return true;
}

std::optional<std::vector<float>> PerChannel(const Tensor& tensor, std::size_t rank,
                                             std::size_t axis, std::int64_t channels) {
  const Dims& dims = tensor.dims();
  if (tensor.dtype() != DType::kF32 || dims.size() > rank) return std::nullopt;
  // Numpy broadcasting aligns the last axes.
  const std::size_t skipped = rank - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool fits = dims[i] == 1 || (i + skipped == axis && dims[i] == channels);
    if (!fits) return std::nullopt;
  }
  const auto values = tensor.Values<float>();
  if (values.size() == 1) {
    return std::vector<float>(static_cast<std::size_t>(channels), values.front());
  }
  return std::vector<float>(values.begin(), values.end());
}

Tensor Vector(std::span<const float> values) {
  return Tensor::From<float>(DType::kF32, {static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace msc
