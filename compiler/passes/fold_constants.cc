#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

constexpr std::size_t kLargestResult = std::size_t{64} << 20U;

bool HasNestedGraph(const Node& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const auto& attr) {
    return std::holds_alternative<GraphPtr>(attr.second) ||
           std::holds_alternative<std::vector<GraphPtr>>(attr.second);
  });
}

// Returns whether folding the node would widen stored weights and lose their narrow format. An
// exception are several scales within a channel, whose rows are reshaped: no kernel supports them,
// so such weights are widened.
bool WidensWeights(const Graph& graph, const Node& node) {
  if (node.Is("DequantizeLinear")) {
    const auto& uses = graph.uses(node.outputs.front());
    const bool reshaped = uses.size() == 1 && graph.node(uses[0].node).Is("Reshape");
    return !reshaped || graph.constant(node.inputs.at(1))->size() == 1;
  }
  return node.Is("Cast") && graph.type(node.inputs.front()).dtype == DType::kBF16;
}

bool MayFold(const Graph& graph, const Node& node) {
  if (HasNestedGraph(node) || !node.captures.empty()) return false;
  if (node.inputs.empty() && !node.Is("Constant")) return false;  // random operators and the like
  for (const ValueId id : node.inputs) {
    if (id != kNoValue && graph.constant(id) == nullptr) return false;
  }
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    // A graph output must be produced by a node; a captured value keeps its producer.
    if (graph.IsOutput(id) || IsCaptured(graph, id)) return false;
    const auto dims = graph.type(id).shape ? StaticDims(*graph.type(id).shape) : std::nullopt;
    if (!dims) continue;
    const auto bytes =
        static_cast<std::size_t>(ElementCount(*dims)) * ByteSize(graph.type(id).dtype);
    if (bytes > kLargestResult) return false;
  }
  return !WidensWeights(graph, node);
}

// Returns whether the node widens constants.
bool WidensConstants(const Graph& graph, const Node& node) {
  const bool widens = node.Is("DequantizeLinear") ||
                      (node.Is("Cast") && graph.type(node.inputs.front()).dtype == DType::kBF16);
  return widens && std::ranges::all_of(node.inputs, [&](ValueId id) {
           return id == kNoValue || graph.constant(id) != nullptr;
         });
}

void ReplaceByConstants(Graph& graph, NodeId id, std::vector<Tensor> results) {
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  std::vector<std::pair<ValueId, std::string>> renames;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) continue;
    const std::string name = graph.value(outputs[i]).name;
    const ValueId constant = graph.AddConstant(graph.FreeValueName(name), std::move(results[i]));
    graph.ReplaceUses(outputs[i], constant);
    renames.emplace_back(constant, name);
  }
  graph.RemoveNode(id);
  for (auto& [constant, name] : renames) graph.RenameValue(constant, std::move(name));
}

// Replaces a node whose inputs are constants by its results, unless these are large.
bool Evaluate(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef* op = Ops().Find(node.domain, node.op);
  if (op == nullptr || !op->computes_tensors) return false;
  std::vector<const Tensor*> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(graph.constant(input).get());
  std::vector<Tensor> results = op->eval(node, inputs);
  const bool large = std::any_of(results.begin(), results.end(), [](const Tensor& result) {
    return result.bytes() > kLargestResult;
  });
  if (large) return false;
  ReplaceByConstants(graph, id, std::move(results));
  return true;
}

bool FoldNode(Graph& graph, NodeId id) {
  return MayFold(graph, graph.node(id)) && Evaluate(graph, id);
}

// Returns the dims that Shape (opset 15: of axes [start, end)) returns.
std::optional<Shape> ShapeResult(const Graph& graph, const Node& node) {
  const std::optional<Shape>& shape = graph.type(node.inputs.front()).shape;
  if (!shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto axis = [&](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const std::int64_t start = axis(AttrOr<std::int64_t>(node, "start", 0));
  const std::int64_t end = std::max(start, axis(AttrOr<std::int64_t>(node, "end", rank)));
  return Shape(shape->begin() + start, shape->begin() + end);
}

bool FoldShape(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Shape") || graph.IsOutput(node.outputs.front()) ||
      IsCaptured(graph, node.outputs.front())) {
    return false;
  }
  const auto shape = ShapeResult(graph, node);
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  if (!dims) return false;
  Tensor result =
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(dims->size())}, *dims);
  std::vector<Tensor> results;
  results.push_back(std::move(result));
  ReplaceByConstants(graph, id, std::move(results));
  return true;
}

// Folds Gather(Shape(x), constant index): one dimension may be known although the shape is not.
bool FoldOneDim(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Gather") || graph.IsOutput(node.outputs.front()) ||
      IsCaptured(graph, node.outputs.front())) {
    return false;
  }
  const NodeId from = graph.producer(node.inputs[0]);
  const TensorPtr index = graph.constant(node.inputs[1]);
  if (from == kNoNode || !graph.node(from).Is("Shape") || !index || index->size() != 1 ||
      index->dtype() != DType::kI64) {
    return false;
  }
  const auto shape = ShapeResult(graph, graph.node(from));
  if (!shape) return false;
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t at = index->Values<std::int64_t>().front();
  if (at < 0) at += rank;
  if (at < 0 || at >= rank || !(*shape)[static_cast<std::size_t>(at)].known()) return false;
  const std::int64_t size = (*shape)[static_cast<std::size_t>(at)].size();
  std::vector<Tensor> results;
  results.push_back(
      Tensor::From<std::int64_t>(DType::kI64, index->dims(), std::vector<std::int64_t>{size}));
  ReplaceByConstants(graph, id, std::move(results));
  return true;
}

}  // namespace

bool FoldConstants(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    // New constants (the target shape of a Reshape) refine types, and these make later Shape nodes
    // constant.
    if (changed) InferNodeTypes(graph, id);
    changed |= FoldShape(graph, id) || FoldOneDim(graph, id) || FoldNode(graph, id);
  }
  return changed;
}

bool WidenWeights(Graph& graph) {
  return Sweep(graph, [&](NodeId id) {
    const Node& node = graph.node(id);
    const ValueId wide = node.outputs.empty() ? kNoValue : node.outputs.front();
    return wide != kNoValue && !graph.IsOutput(wide) && !IsCaptured(graph, wide) &&
           WidensConstants(graph, node) && Evaluate(graph, id);
  });
}

}  // namespace msc
