#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Operators whose output has the elements of input 0 in another arrangement.
bool OnlyMoves(const Node& node) {
  return node.Is("Reshape") || node.Is("Flatten") || node.Is("Transpose") || node.Is("Squeeze") ||
         node.Is("Unsqueeze");
}

bool IsPerTensor(const Narrowing& form) {
  return form.IsBF16() || form.IsPerTensorInt8();
}

bool HasOneOutput(const Graph& graph, const Node& node) {
  const ValueId first = node.outputs.front();
  return node.outputs.size() == 1 && first != kNoValue && !IsCaptured(graph, first);
}

// Adds a copy of `widening` (DequantizeLinear or Cast) behind `node`, for all readers of an output
// of it. The output becomes narrow.
void WidenAfter(Graph& graph, NodeId node, std::size_t output, Node widening,
                const std::string& stem) {
  const ValueId narrow = graph.node(node).outputs[output];
  const std::string name = graph.value(narrow).name;
  ValueType wide = graph.type(narrow);
  ValueType type = wide;
  type.dtype = graph.type(widening.inputs.front()).dtype;
  wide.dtype = DType::kF32;
  // The new node must stand in front of the first reader: insert it directly behind `node`.
  const auto& order = graph.order();
  const auto next = std::find(order.begin(), order.end(), node) + 1;
  const NodeId before = next == order.end() ? kNoNode : *next;

  const ValueId made = graph.AddValue(graph.FreeValueName(name), wide);
  widening.name = graph.FreeNodeName(stem);
  widening.outputs = {made};
  const std::vector<Use> readers = graph.uses(narrow);
  const bool is_output = graph.IsOutput(narrow);
  widening.inputs.front() = narrow;
  graph.AddNode(std::move(widening), before);
  for (const Use& use : readers) graph.SetInput(use.node, use.index, made);
  if (is_output) {
    std::vector<ValueId> outputs = graph.outputs();
    std::replace(outputs.begin(), outputs.end(), narrow, made);
    graph.SetOutputs(outputs);
  }
  graph.SetType(narrow, type);
  // The f32 value keeps its name, because callers may refer to it.
  graph.RenameValue(narrow, graph.FreeValueName(name + "_narrow"));
  graph.RenameValue(made, name);
}

bool SinkThroughMove(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!OnlyMoves(node) || !HasOneOutput(graph, node)) return false;
  const auto source = NarrowSource(graph, node.inputs.front());
  if (!source || !IsPerTensor(source->form)) return false;
  const Node widening = graph.node(source->widening);
  graph.SetInput(id, 0, source->value);
  WidenAfter(graph, id, 0, widening, widening.name);
  return true;
}

bool SinkThroughMaxPool(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("MaxPool") || !HasOneOutput(graph, node)) return false;
  const auto source = NarrowSource(graph, node.inputs.front());
  if (!source || !IsPerTensor(source->form)) return false;
  const QuantParams params = source->form.Params();
  auto pool = FusedPool(graph, id);
  if (!pool) return false;
  pool->inputs = {source->value};
  FusedAttrs attrs;
  attrs.x = params;
  attrs.y = params;
  attrs.y_type = source->form.dtype;
  WriteFusedAttrs(attrs, pool->attrs);
  const Node widening = graph.node(source->widening);
  const std::vector<NodeId> chain = {id};
  const NodeId made = ReplaceChain(graph, chain, std::move(*pool));
  WidenAfter(graph, made, 0, widening, widening.name);
  return true;
}

bool SinkThroughConcat(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Concat") || !HasOneOutput(graph, node)) return false;
  std::vector<NarrowValue> sources;
  for (const ValueId input : node.inputs) {
    const auto source = NarrowSource(graph, input);
    if (!source || !IsPerTensor(source->form)) return false;
    if (!sources.empty() && !(source->form == sources.front().form)) return false;
    sources.push_back(*source);
  }
  const Node widening = graph.node(sources.front().widening);
  for (std::size_t i = 0; i < sources.size(); ++i) graph.SetInput(id, i, sources[i].value);
  WidenAfter(graph, id, 0, widening, widening.name);
  return true;
}

bool SinkThroughSplit(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool whole =
      node.Is("Split") && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId part) {
        return part != kNoValue && !IsCaptured(graph, part);
      });
  if (!whole) return false;
  const auto source = NarrowSource(graph, node.inputs.front());
  if (!source || !IsPerTensor(source->form)) return false;
  const Node widening = graph.node(source->widening);
  const std::size_t parts = node.outputs.size();
  graph.SetInput(id, 0, source->value);
  for (std::size_t i = 0; i < parts; ++i) WidenAfter(graph, id, i, widening, widening.name);
  return true;
}

// Replaces Q(Move(x)) by Move(Q(x)), so that the producer of x can be fused with Q.
bool HoistOverMove(Graph& graph, NodeId id) {
  const auto form = ReadNarrowing(graph, id);
  if (!form || !IsPerTensor(*form)) return false;
  const ValueId moved = graph.node(id).inputs.front();
  const NodeId move = graph.producer(moved);
  if (move == kNoNode || !OnlyMoves(graph.node(move)) || !OnlyReader(graph, moved)) return false;
  const ValueId x = graph.node(move).inputs.front();
  if (!OnlyReader(graph, x) || graph.producer(x) == kNoNode) return false;
  if (IsCaptured(graph, graph.node(id).outputs.front())) return false;

  Node narrowing = graph.node(id);
  narrowing.name = graph.FreeNodeName(narrowing.name);
  ValueType type = graph.type(x);
  type.dtype = form->dtype;
  const ValueId q = graph.AddValue(graph.FreeValueName(graph.value(x).name + "_narrow"), type);
  narrowing.outputs = {q};
  narrowing.inputs.front() = x;
  graph.AddNode(std::move(narrowing), move);

  Node moving = graph.node(move);
  moving.inputs.front() = q;
  const std::vector<NodeId> chain = {move, id};
  ReplaceChain(graph, chain, std::move(moving));
  return true;
}

}  // namespace

bool MoveNarrowing(Graph& graph) {
  const bool sunk = Sweep(graph, [&](NodeId id) {
    return SinkThroughMove(graph, id) || SinkThroughMaxPool(graph, id) ||
           SinkThroughConcat(graph, id) || SinkThroughSplit(graph, id);
  });
  bool hoisted = false;
  // A hoisted narrowing is a new node, which may pass a further operator.
  while (Sweep(graph, [&](NodeId id) { return HoistOverMove(graph, id); })) hoisted = true;
  return sunk || hoisted;
}

}  // namespace msc
