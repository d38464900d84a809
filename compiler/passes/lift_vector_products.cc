#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Adds a constant with the axis of a Squeeze or Unsqueeze.
ValueId AddAxis(Graph& graph, const std::string& stem, std::int64_t axis) {
  return graph.AddConstant(graph.FreeValueName(stem + "_axis"),
                           Tensor::From<std::int64_t>(DType::kI64, {1}, std::vector{axis}));
}

/// Replaces a MatMul by `product` of the same name, and a Squeeze of its result along `axis`.
void ReplaceBySqueezed(Graph& graph, NodeId id, Node product, const ValueType& type,
                       std::int64_t axis) {
  const std::string name = graph.node(id).name;
  const std::string stem = graph.value(graph.node(id).outputs.front()).name;
  const ValueId made = graph.AddValue(graph.FreeValueName(stem + "_matrix"), type);
  product.name = graph.FreeNodeName(name + "_matrix");
  product.outputs = {made};
  const NodeId added = graph.AddNode(std::move(product), id);
  const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
  const NodeId squeeze = ReplaceChain(
      graph, nodes, Node{.op = "Squeeze", .inputs = {made, AddAxis(graph, stem, axis)}});
  graph.RenameNode(squeeze, graph.FreeNodeName(name + "_squeeze"));
  graph.RenameNode(added, name);
}

ValueType WithAxis(ValueType type, std::size_t axis) {
  type.shape->insert(type.shape->begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
  return type;
}

/// Makes weights [K] a matrix [K, 1], or an operand [K] a matrix [1, K].
bool LiftProduct(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (!node.Is("MatMul") || IsCaptured(graph, node.outputs.front())) return false;
  const auto weights = ReadWeights(graph, node.inputs[1]);
  const ValueType x = graph.type(node.inputs[0]);
  const ValueType y = graph.type(node.outputs.front());
  if (!weights || !x.shape || !y.shape || x.shape->empty()) return false;
  if (weights->tensor->dims().size() == 1 && weights->widening == kNoNode) {
    const ValueId column =
        graph.AddConstant(graph.FreeValueName(graph.value(weights->constant).name + "_column"),
                          weights->tensor->Reshaped({weights->tensor->size(), 1}));
    ReplaceBySqueezed(graph, id, {.op = "MatMul", .inputs = {node.inputs[0], column}},
                      WithAxis(y, y.shape->size()), -1);
    return true;
  }
  if (weights->tensor->dims().size() != 2 || x.shape->size() != 1) return false;
  const std::string stem = graph.value(node.inputs[0]).name;
  const ValueId row = graph.AddValue(graph.FreeValueName(stem + "_row"), WithAxis(x, 0));
  graph.AddNode({.name = graph.FreeNodeName(node.name + "_unsqueeze"),
                 .op = "Unsqueeze",
                 .inputs = {node.inputs[0], AddAxis(graph, stem, 0)},
                 .outputs = {row}},
                id);
  ReplaceBySqueezed(graph, id, {.op = "MatMul", .inputs = {row, node.inputs[1]}}, WithAxis(y, 0),
                    0);
  return true;
}

bool IsAxisZero(const Graph& graph, const Node& node) {
  const TensorPtr axes = node.HasInput(1) ? graph.constant(node.inputs[1]) : nullptr;
  return axes && axes->dtype() == DType::kI64 && axes->size() == 1 &&
         axes->Values<std::int64_t>()[0] == 0;
}

/// Returns whether the node makes a list of a matrix of one row.
bool MakesList(const Graph& graph, NodeId id) {
  if (id == kNoNode || !graph.node(id).Is("Squeeze")) return false;
  const auto& shape = graph.type(graph.node(id).inputs[0]).shape;
  return IsAxisZero(graph, graph.node(id)) && shape && shape->size() == 2 &&
         shape->front().known() && shape->front().size() == 1;
}

/// Returns whether the node computes each element of one operand by itself, with constants at most.
bool IsElementwise(const Graph& graph, const Use& operand) {
  constexpr std::array<std::string_view, 13> kOps = {
      "Add",  "Sub", "Mul", "Div",  "Relu",      "LeakyRelu",  "Sigmoid",
      "Tanh", "Elu", "Erf", "Clip", "HardSwish", "HardSigmoid"};
  const Node& node = graph.node(operand.node);
  if (!node.domain.empty() || std::ranges::find(kOps, node.op) == kOps.end()) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == operand.index || node.inputs[i] == kNoValue) continue;
    const TensorPtr tensor = graph.constant(node.inputs[i]);
    if (!tensor || tensor->dims().size() > 1) return false;
  }
  return true;
}

/// Moves a Squeeze behind bias and activation, so that these stay next to their layer.
bool MoveSqueeze(Graph& graph, NodeId id) {
  if (!MakesList(graph, id)) return false;
  const Node squeeze = graph.node(id);
  const auto reader = OnlyReader(graph, squeeze.outputs.front());
  if (!reader || !IsElementwise(graph, *reader)) return false;
  Node moved = graph.node(reader->node);
  const ValueId after = moved.outputs.front();
  const ValueType list = graph.type(after);
  if (IsCaptured(graph, after) || !list.shape || list.shape->size() != 1) return false;
  const std::string name = moved.name;
  const ValueId wide =
      graph.AddValue(graph.FreeValueName(graph.value(after).name + "_row"), WithAxis(list, 0));
  moved.inputs[reader->index] = squeeze.inputs[0];
  moved.outputs = {wide};
  moved.name = graph.FreeNodeName(name + "_row");
  const NodeId added = graph.AddNode(std::move(moved), reader->node);
  const NodeId nodes[] = {id, reader->node};  // NOLINT(modernize-avoid-c-arrays)
  ReplaceChain(graph, nodes, Node{.op = "Squeeze", .inputs = {wide, squeeze.inputs[1]}});
  graph.RenameNode(added, name);
  return true;
}

/// Removes an Unsqueeze that makes a matrix of a list that was one.
bool Cancel(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Unsqueeze") || !IsAxisZero(graph, node)) return false;
  const NodeId before = graph.producer(node.inputs[0]);
  return MakesList(graph, before) && Bypass(graph, id, graph.node(before).inputs[0]);
}

}  // namespace

bool LiftVectorProducts(Graph& graph) {
  bool changed = false;
  const auto step = [&](NodeId id) {
    return LiftProduct(graph, id) || MoveSqueeze(graph, id) || Cancel(graph, id);
  };
  while (Sweep(graph, step)) changed = true;
  return changed;
}

}  // namespace msc
