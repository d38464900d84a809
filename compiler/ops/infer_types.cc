#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/declared.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

InferInput InputOf(const Graph& graph, const Node& node) {
  InferInput in{.node = &node};
  for (const ValueId id : node.inputs) {
    in.types.push_back(id == kNoValue ? ValueType{} : graph.type(id));
    in.constants.push_back(graph.constant(id));
  }
  return in;
}

/// Completes `inferred` by the facts in `known`. An inferred number takes precedence, because the
/// inputs may have changed since `known` was set.
ValueType Merge(ValueType inferred, const ValueType& known) {
  if (inferred.dtype == DType::kUndefined) inferred.dtype = known.dtype;
  if (!known.shape) return inferred;
  if (!inferred.shape) {
    inferred.shape = known.shape;
    return inferred;
  }
  if (inferred.shape->size() != known.shape->size()) return inferred;
  for (std::size_t i = 0; i < known.shape->size(); ++i) {
    Dim& dim = (*inferred.shape)[i];
    const Dim& other = (*known.shape)[i];
    if (other.known() ? !dim.known() : !dim.known() && dim.symbol().empty()) dim = other;
  }
  return inferred;
}

void BindType(Graph& graph, ValueId id, const ShapeBindings& bindings) {
  ValueType type = graph.type(id);
  if (!type.shape) return;
  type.shape = Bind(*type.shape, bindings);
  graph.SetType(id, std::move(type));
}

}  // namespace

void InferTypes(Graph& graph, const ShapeBindings& bindings, const OpRegistry& ops) {
  for (const auto& [symbol, size] : bindings) {
    if (size < 0) {
      throw UserError("dimension '" + symbol + "' cannot be " + std::to_string(size));
    }
  }
  for (const ValueId id : graph.values()) BindType(graph, id, bindings);
  for (const NodeId id : graph.order()) InferNodeTypes(graph, id, ops);
}

void InferNodeTypes(Graph& graph, NodeId id, const OpRegistry& ops) {
  CheckNode(graph, id, ops);
  const Node& node = graph.node(id);
  const std::vector<ValueType> types = ops.Get(node).infer(InputOf(graph, node));
  Check(types.size() >= node.outputs.size(), "inference gives a type for every output");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId out = node.outputs[i];
    if (out != kNoValue) graph.SetType(out, Merge(types[i], graph.type(out)));
  }
}

bool TypesFollow(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef* op = Ops().Find(node.domain, node.op);
  if (op == nullptr) return true;  // an operator of a target
  const std::vector<ValueType> types = op->infer(InputOf(graph, node));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    const ValueType& type = graph.type(node.outputs[i]);
    if (types[i].dtype != type.dtype || types[i].shape != type.shape) return false;
  }
  return true;
}

OpCost CostOf(const Graph& graph, NodeId id, const OpRegistry& ops) {
  const Node& node = graph.node(id);
  const OpDef& op = ops.Get(node);
  OpCost cost;
  std::vector<ValueType> in;
  std::vector<ValueType> out;
  for (const auto& [ids, types] : {std::pair{&node.inputs, &in}, std::pair{&node.outputs, &out}}) {
    for (const ValueId value : *ids) {
      types->push_back(value == kNoValue ? ValueType{} : graph.type(value));
      if (value == kNoValue) continue;
      const ValueType& type = types->back();
      const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
      if (!dims) return {};
      cost.bytes +=
          static_cast<double>(ElementCount(*dims)) * static_cast<double>(ByteSize(type.dtype));
    }
  }
  if (op.flops != nullptr) cost.flops = op.flops(node, in, out);
  return cost;
}

}  // namespace msc
